"""Runs the code of a notebook, without Jupyter: its cells one after the other, each with its output."""

import ast
import contextlib
import importlib.util
import io
import json


def executed(path):
    """Executes a notebook. Cells that need a missing package keep their output."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    names = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        needs = cell["metadata"].get("needs", [])
        if all(importlib.util.find_spec(package) for package in needs):
            cell["outputs"] = _outputs("".join(cell["source"]), names)
    return notebook


def _outputs(source, names):
    """Output of a cell: printed text, then the value of its last line or its error."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last is not None:
            shown = eval(compile(last, "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if shown is not None:
        data = {"text/plain": _lines(repr(shown))}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def _lines(text):
    return text.splitlines(keepends=True)


def text(notebook):
    """Text of a notebook file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
