"""How each framework calls what docs/from-another-framework.md defines: a right answer, then a wrong one."""

USES = {
    "deepeval": """
from deepeval.test_case import LLMTestCase
for answer in ("Oslo", "Bergen"):
    print(ExactMatch().measure(LLMTestCase(input="?", actual_output=answer, expected_output="Oslo")))
""",
    "ragas": """
for answer in ("Oslo", "Bergen"):
    print(exact_match.score(response=answer, reference="Oslo").value)
""",
    "inspect": """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver
@solver
def say():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/model", state.input_text)
        return state
    return solve
samples = [Sample(input=answer, target="Oslo") for answer in ("Oslo", "Bergen")]
(log,) = eval(Task(dataset=samples, solver=say(), scorer=exact_match()), model="mockllm/model", display="none")
for sample in log.samples:
    print(sample.scores["exact_match"].value)
""",
    "autoevals": """
for answer in ("Oslo", "Bergen"):
    print(exact_match(answer, expected="Oslo").score)
""",
    "pydantic_evals": """
from pydantic_evals import Case, Dataset
cases = [Case(name=answer, inputs=answer, expected_output="Oslo") for answer in ("Oslo", "Bergen")]
report = Dataset(name="d", cases=cases, evaluators=[ExactMatch()]).evaluate_sync(lambda answer: answer, progress=False)
for case in sorted(report.cases, key=lambda case: case.name, reverse=True):
    print(case.scores["ExactMatch"].value)
""",
    "opik": """
for answer in ("Oslo", "Bergen"):
    print(ExactMatch("exact-match", track=False).score(output=answer, reference="Oslo").value)
""",
    "braintrust": """
from braintrust import Eval
rows = [{"input": answer, "expected": "Oslo"} for answer in ("Oslo", "Bergen")]
done = Eval("p", data=rows, task=lambda input: input, scores=[exact_match], no_send_logs=True)
for result in done.results:
    print(result.scores["exact-match"])
""",
    "langsmith": """
for answer in ("Oslo", "Bergen"):
    print(exact_match({"answer": answer}, {"answer": "Oslo"})["score"])
""",
    "mlflow": """
for answer in ("Oslo", "Bergen"):
    print(exact_match(outputs=answer, expectations={"expected_response": "Oslo"}).value)
""",
    "phoenix": """
for answer in ("Oslo", "Bergen"):
    print(exact_match.evaluate({"output": answer, "expected": "Oslo"})[0].score)
""",
    "langfuse": """
for answer in ("Oslo", "Bergen"):
    print(exact_match(input="?", output=answer, expected_output="Oslo").value)
""",
    "haystack": """
from haystack import Pipeline
pipeline = Pipeline()
pipeline.add_component("exact", ExactMatch())
asked = {"ground_truth_answers": ["Oslo", "Oslo"], "predicted_answers": ["Oslo", "Bergen"]}
for score in pipeline.run({"exact": asked})["exact"]["individual_scores"]:
    print(score)
""",
    "promptfoo": """
for answer in ("Oslo", "Bergen"):
    print(get_assert(answer, {"vars": {"expected": "Oslo"}})["score"])
""",
}
