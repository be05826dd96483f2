"""`calculate`: arithmetic as people write it. Bounded, exact where it can be, and it never runs code."""

from __future__ import annotations

from sidestream.builtin.arithmetic import evaluate
from sidestream.builtin.operations import show
from sidestream.tools.tool import tool

__all__ = ["calculate"]


EXAMPLES = (
    "What is 12 times 8?",
    "Work out 7 + 5 * 2",
    "What does 144 / 12 come to?",
    "Calculate (3 + 4) * 6",
    "What is the square root of 81?",
    "What's 30 percent of 90?",
    "12% of 50",
    "sum of 14, 25 and 31",
    "subtract 18 from 60",
    "multiply 13 by 7",
    "3 to the power of 5",
    "How much do 4 tickets cost at 15 dollars per ticket?",
    "I had 80 apples and gave away 35. How many remain?",
    "A box holds 12 eggs. How many eggs are in 9 boxes?",
    "If 96 sweets are shared among 8 children, how many does each get?",
    "What is the total price of 3 shirts for 20 euros apiece?",
    "Evaluate 2 * (9 - 4)",
    "8 factorial",
    "plus, minus, times, divided: do the maths",
    "A 60 dollar coat is 25% off. What is the price?",
    "What is the average of 4, 8 and 15?",
)


@tool(read_only=True, idempotent=True, examples=EXAMPLES)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression: + - * / // % ** and brackets, percentages, sqrt, log, factorial.

    Args:
        expression: The arithmetic expression, such as 3 * (17 + 5) / 2 or 15% of 240.
    """
    return show(evaluate(expression))
