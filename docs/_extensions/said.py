"""The errors and warnings of the package, read from its source."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "nnpu"


def words(node):
    """Return what a message says, "…" standing for what only a run can know."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(words(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return words(node.left) + words(node.right)
    if isinstance(node, ast.IfExp):
        return max(words(node.body), words(node.orelse), key=len)
    return "…"


def messages():
    """Return each message as (module, "warning" or "error", its words), in the source's order."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                if ast.unparse(node.exc.func) == "AttributeError":  # of Python, not of a user
                    continue
                yield module, "error", words(node.exc.args[0]) if node.exc.args else ""
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                yield module, "warning", words(node.args[0])


def phrases():
    """Return every text in the source: what functions put messages together from, too."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                yield " ".join(words(node).split())


def told(text):
    """Say whether a message has words of its own."""
    return len(text.replace("…", " ").split()) >= 3
