"""`push_prompt` and `load_prompt`, by whatever version of the package is there."""

import sys

import patronus
from patronus.prompts import Prompt, load_prompt, push_prompt

patronus.init(project_name="bot", **dict(argument.split("=", 1) for argument in sys.argv[1:]))
pushed = push_prompt(Prompt(name="greeting", body="Greet {name}.", description="Says hello."))
again = push_prompt(Prompt(name="greeting", body="Greet {name}.", description="Says hello."))
loaded = load_prompt("greeting")
print("SAME", pushed.revision == again.revision == loaded.revision, loaded.render(name="Jo"))
