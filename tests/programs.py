"""Programs of callers, as whoever has an address and a key would write them. They are run in processes of their own."""

PATRONUS = """
import os
import patronus_api

client = patronus_api.PatronusAPI(base_url=os.environ["EVALSVC_URL"], api_key=os.environ["EVALSVC_API_KEY"])
answer = client.evaluations.evaluate(
    evaluators=[{"evaluator": "exact-match"}],
    task_output="Paris",
    gold_answer="Paris",
)
print("PASSED", answer.results[0].evaluation_result.pass_)
"""
GRPC = """
import os
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

key = os.environ["EVALSVC_API_KEY"]
exporter = OTLPSpanExporter(endpoint=os.environ["EVALSVC_URL"], headers=(("x-api-key", key),), timeout=30)
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
with provider.get_tracer("raw").start_as_current_span("through tls") as span:
    print("FOUND" + format(span.get_span_context().trace_id, "032x"))
"""
EXPERIMENT = """
from evalsvc.client import Client

capitals = {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Japan": "Tokyo"}
result = Client().eval(
    lambda country: capitals[country],
    inputs=[{"country": name} for name in capitals],
    expected_outputs=["Rome", "Paris", "Barcelona", "Tokyo"],
    evaluators=["exact-match"],
    name="capitals",
)
print(result.state, result.metrics["exact-match"].value, result.metrics["exact-match"].n)
"""
