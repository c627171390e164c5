"""An application that asks a model within a workflow of OpenLLMetry."""

from openai import OpenAI
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow

Traceloop.init(app_name="shop")


@workflow(name="sums")
def ask(question):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    return OpenAI().chat.completions.create(model="gpt-4.1-mini", messages=messages).choices[0].message.content


print(ask("Q1: What is 20 + 22?"))
