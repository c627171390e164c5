// Calls each method for evals and files once; prints what the test compares.
import OpenAI, { toFile } from "openai";

const client = new OpenAI(); // OPENAI_BASE_URL, OPENAI_API_KEY
const criterion = {
  type: "string_check",
  name: "Same",
  operation: "eq",
  input: "{{sample.output_text}}",
  reference: "{{item.category}}",
};
const config = { type: "custom", item_schema: { type: "object" }, include_sample_schema: true };
const made = await client.evals.create({ name: "node", data_source_config: config, testing_criteria: [criterion] });
const renamed = await client.evals.update(made.id, { name: "renamed", metadata: { a: "b" } });
const found = await client.evals.retrieve(made.id);
const listed = [];
for await (const row of client.evals.list({ limit: 1 })) listed.push(row.id);

const rows = ["a", "b", "c"].map((text) => ({ item: { category: "a" }, sample: { output_text: text } }));
const lines = rows.map((row) => JSON.stringify(row)).join("\n");
const file = await client.files.create({ file: await toFile(Buffer.from(lines), "rows.jsonl"), purpose: "evals" });
const content = await (await client.files.content(file.id)).text();
const source = { type: "jsonl", source: { type: "file_id", id: file.id } };
const run = await client.evals.runs.create(made.id, { name: "r", data_source: source });
const again = await client.evals.runs.retrieve(run.id, { eval_id: made.id });
const canceled = await client.evals.runs.cancel(run.id, { eval_id: made.id });
const runs = [];
for await (const row of client.evals.runs.list(made.id, { limit: 1 })) runs.push(row.id);
const items = [];
const query = { eval_id: made.id, limit: 1 };
for await (const item of client.evals.runs.outputItems.list(run.id, query)) items.push(item);
const item = await client.evals.runs.outputItems.retrieve(items[0].id, { eval_id: made.id, run_id: run.id });
const graded = await client.fineTuning.alpha.graders.run({
  grader: criterion,
  model_sample: "a",
  item: { category: "a" },
});
const valid = await client.fineTuning.alpha.graders.validate({ grader: criterion });

const refusals = [];
const calls = [
  () => client.evals.retrieve("eval_1"),
  () => client.evals.create({ data_source_config: config, testing_criteria: [{ ...criterion, operation: "x" }] }),
  () => new OpenAI({ apiKey: "ek_wrong.wrong" }).evals.list(),
];
for (const call of calls) {
  try {
    await call();
  } catch (error) {
    refusals.push([error.constructor.name, error.status, error.code, error.param ?? null, Boolean(error.requestID)]);
  }
}
const gone = [
  await client.evals.runs.delete(run.id, { eval_id: made.id }),
  await client.evals.delete(made.id),
  await client.files.delete(file.id),
];
console.log(
  JSON.stringify({
    names: [made.name, renamed.name, found.name, found.metadata.a],
    listed: listed.length,
    bytes: [file.bytes, content === lines],
    run: [run.status, again.status, canceled.status, again.model_name ?? null, again.error],
    counts: again.result_counts,
    runs: runs.length,
    places: items.map((one) => one.datasource_item_id),
    statuses: items.map((one) => one.status),
    names_of_results: items.every((one) => one.results[0].name === made.testing_criteria[0].id),
    item: item.id === items[0].id,
    per_criterion: again.per_testing_criteria_results.map((one) => [one.passed, one.failed]),
    pass_rate: again.evalsvc.pass_rate.value,
    reward: [graded.reward, valid.grader.name],
    refusals,
    gone: gone.map((one) => [one.object, one.deleted]),
  }),
);
