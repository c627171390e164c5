// A verdict, a file, a function over examples, a gate and a refusal, as one program prints them.
import { Client, EvalsvcError, GateFailed } from "evalsvc";

const client = new Client();

const capitals: Record<string, string> = { Italy: "Rome", France: "Paris", Spain: "Madrid" };
const body = { evaluators: [{ evaluator: "exact-match" }], output: "Paris", gold_answer: "Paris", app: "ts" };
await client.evaluate(body);
const answer = await client.evaluate({ ...body, confidence_interval_strategy: "wilson" });
const verdict = answer.results[0]?.evaluation_result;
const history = await client.history("exact-match", { limit: 1 });

const file = new Blob(['{"output": "Rome", "expected": "Rome"}\n{"output": "Lyon", "expected": "Paris"}\n']);
const scored = await client.scoreFile(file, { evaluators: ["exact-match"], fileName: "outputs.jsonl", name: "ts file" });

function capital(country: string) {
    if (country === "Nowhere") throw new Error("no such country");
    return { output: capitals[country], contexts: [`${capitals[country]} is the capital.`] };
}

const seen: number[] = [];
const result = await client.eval(capital, {
    name: "ts capitals",
    inputs: ["Italy", "France", "Spain", "Nowhere"],
    expected: ["Rome", "Paris", "Barcelona", "?"],
    evaluators: ["exact-match"],
    concurrency: 2,
    onProgress: (done) => seen.push(done),
});
const metric = result.metrics["exact-match"];
const rows = [];
for await (const row of client.results(result.experimentId)) rows.push(row);

const candidate = { experiment_id: result.experimentId };
const gate = await client.gate({ candidate, rules: [{ metric: "exact-match", at_least: 0.01 }] });
const failed = await client
    .requireGate({ candidate, rules: [{ metric: "exact-match", at_least: 0.99 }] })
    .catch((error: unknown) => (error instanceof GateFailed ? error.gate.outcome : String(error)));
const refused = await client.evaluate({ evaluators: [] }).catch((error: unknown) => {
    return error instanceof EvalsvcError ? [error.status, error.code, error.errors[0]?.pointer, error.requestId !== null] : null;
});

console.log(
    JSON.stringify({
        pass: verdict?.pass,
        interval: verdict?.additional_info?.confidence_interval?.n,
        history: history.n,
        file: [scored.n_pending, scored.metrics["exact-match"]?.value, scored.results.length],
        state: [result.state, result.nOk, result.nError],
        metric: [metric?.value, metric?.n, (metric?.lower ?? 9) < (metric?.upper ?? 0)],
        errors: rows.filter((row) => row.error_message).map((row) => row.error_message),
        progress: seen.at(-1),
        gate: [gate.outcome, failed],
        refused,
    }),
);
