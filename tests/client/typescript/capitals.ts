// Runs a slow function over 30 examples, or continues where a process before it was killed.
import { Client } from "evalsvc";

const client = new Client();

async function slow(i: number) {
    console.log(`asked ${i}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return i % 2 ? "odd" : "even";
}

const inputs = Array.from({ length: 30 }, (_, i) => i);
const result = await client.eval(slow, {
    name: "ts killed",
    inputs,
    expected: inputs.map((i) => (i % 2 ? "odd" : "even")),
    evaluators: ["exact-match"],
    concurrency: 3,
    leaseSeconds: 10,
    resume: true,
});
const metric = result.metrics["exact-match"];
console.log(JSON.stringify([result.experimentId, result.state, result.nOk, metric?.n, metric?.value]));
