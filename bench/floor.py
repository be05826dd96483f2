"""The floor: how cheap can a chunk be? A bare socket, HTTP chunks taken apart by hand, `json.loads`, no more.

It does the least that any client must do to see a text, in the same process and on the same loop as the rest
of the bench, so that ratios to it hold on any machine.
"""

from __future__ import annotations

import asyncio
import json

HEAD = b"POST /%b/v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-length: %d\r\n\r\n"


async def read(port: int, path: str) -> int:
    """Ask once and read to the end; how many pieces (texts or fragments of arguments) there were."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}).encode()
    writer.write(HEAD % (path.encode(), len(body)) + body)
    await reader.readuntil(b"\r\n\r\n")
    pieces, wire, text, ended = 0, b"", b"", False
    while not ended and (data := await reader.read(65_536)):
        wire += data
        position = 0
        while (line := wire.find(b"\r\n", position)) >= 0:
            size = int(wire[position:line], 16)
            if len(wire) < line + 4 + size:
                break
            text += wire[line + 2 : line + 2 + size]
            position, ended = line + 4 + size, size == 0
        wire = wire[position:]
        *records, text = text.split(b"\n\n")
        for record in records:
            if record.startswith(b"data: {"):
                delta = json.loads(record[6:])["choices"][0]["delta"]
                pieces += bool(delta.get("content") or delta.get("tool_calls"))
    writer.close()
    return pieces
