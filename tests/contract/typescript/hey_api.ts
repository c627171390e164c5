// Calls evaluate by the client that @hey-api/openapi-ts generates, and prints the verdict.
import { evaluate } from "./hey";
import { client } from "./hey/client.gen";

declare const process: { env: Record<string, string | undefined> };

client.setConfig({
    baseUrl: process.env.EVALSVC_URL ?? "",
    headers: { "X-API-KEY": process.env.EVALSVC_API_KEY ?? "" },
});

async function main() {
    const { data, error } = await evaluate({
        body: { evaluators: [{ evaluator: "exact-match" }], input: "Capital?", output: "Paris", gold_answer: "Paris" },
    });
    const refused = await evaluate({ body: { evaluators: [] } });
    console.log(JSON.stringify([data?.results[0]?.evaluation_result?.pass, error ?? null, refused.error?.code]));
}

main();
