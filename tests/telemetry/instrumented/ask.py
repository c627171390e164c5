"""An application that asks a model. Nothing in it knows of telemetry."""

from openai import OpenAI

messages = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Q1: What is 20 + 22?"},
]
answer = OpenAI().chat.completions.create(model="gpt-4.1-mini", messages=messages)
print(answer.choices[0].message.content)
