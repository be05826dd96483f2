"""The water: whoever can be asked for an answer, and what is asked. `choose` picks one by name.

One file a wire format (its bytes → deltas, a request → its bytes) over `sse`, `http` and `failure`, which
know none. Importing this room loads none of them.
"""
