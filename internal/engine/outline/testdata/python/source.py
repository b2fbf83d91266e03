"""Module.

class InDocstring:
    def method(self): ...
"""
import os

MAX_ITEMS = 10
TABLE: dict[str, int] = {}
lower = 1

@decorator
class Store(Base, metaclass=Meta):
    """def in_docstring(): pass"""

    LIMIT = 3

    def __init__(self, path):
        self.path = path

        def local():
            pass

    async def load(
        self,
        name: str,
    ) -> str:
        return name

    class Inner:
        @property
        def value(self): return 1

if os.name == "nt":
    def only_windows(): pass

def größe(x): return x  # def comment(): pass
text = 'def in_text(): """'
def after(): pass
