"""Draws docs/images/turn.svg: a turn on a scripted model and a virtual clock, by sidestream's own timeline.

Run it with the folder of the picture as its argument; without one it draws beside itself.
"""

import asyncio
import sys
from pathlib import Path

import sidestream as ss
from sidestream.testing import Script, run
from sidestream.timeline import svg


@ss.tool(read_only=True)
async def weather(city: str) -> str:
    """Current weather."""
    await asyncio.sleep(1.1)
    return f"21 degrees in {city}"


@ss.tool(read_only=True)
async def trains(to: str) -> str:
    """Next trains."""
    await asyncio.sleep(0.8)
    return f"to {to} at 10:02"


def spoken(text: str) -> list[str | float]:
    """`text` a word at a time, 60 milliseconds each."""
    return [piece for word in text.split(" ") for piece in (0.06, word + " ")]


MODEL = Script(
    [
        *spoken('Let me look. <tool name="weather"><city>Bern</city></tool> While that runs, I check the trains.'),
        *spoken('<tool name="trains"><to>Bern</to></tool> You will want both before you pack, so one moment.'),
    ],
    spoken("It is 21 degrees in Bern, and the next train goes at 10:02. A light jacket will do."),
)


async def main(folder: Path) -> None:
    engine = ss.Engine(MODEL, [weather, trains], dialect="tinyrag")
    async with engine.run("Shall I pack a coat for Bern, and when does the train go?") as turn:
        await turn.result()
    (folder / "turn.svg").write_text(svg(turn.events), encoding="utf-8")


if __name__ == "__main__":
    run(main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent))
