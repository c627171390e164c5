"""An agent of pydantic-ai, observed by logfire."""

import logfire
from pydantic_ai import Agent

logfire.configure(send_to_logfire=False, console=False)
logfire.instrument_pydantic_ai()
print(Agent("openai-chat:gpt-4.1-mini", instructions="Be brief.").run_sync("Q1: What is 20 + 22?").output)
