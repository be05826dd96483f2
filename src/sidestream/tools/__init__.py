"""The wheel: what a tool is, how one is made of a function, and where tools come from.

`tool.py` is the whole of it for who writes tools; `shelf.py` for who brings them from elsewhere; `output.py`
and `threads.py` for who runs them. It shows nothing here: import what you need from its own file.
"""
