"""The main job: a table in, a judged model and a page out."""

__all__ = ()
