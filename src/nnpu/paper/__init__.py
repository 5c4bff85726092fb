"""The paper's figures, tables and statements as data, and what runs them."""

__all__ = []
