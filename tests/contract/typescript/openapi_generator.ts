// Calls evaluate by the client that OpenAPI Generator's typescript-fetch generates, and prints the verdict.
import { Configuration, EvaluationsApi, ResponseError } from "./fetch";

declare const process: { env: Record<string, string | undefined> };

const api = new EvaluationsApi(
    new Configuration({ basePath: process.env.EVALSVC_URL ?? "", apiKey: process.env.EVALSVC_API_KEY ?? "" }),
);

async function main() {
    const answer = await api.evaluate({
        evaluateBody: {
            evaluators: [{ evaluator: "exact-match" }],
            input: "Capital?",
            output: "Paris",
            goldAnswer: "Paris",
            contexts: ["Paris is the capital.", { id: "d2", text: "Lyon is not." }],
        },
    });
    const code = await api.evaluate({ evaluateBody: { evaluators: [] } }).catch(async (refused: ResponseError) => {
        return (await refused.response.json()).code as string;
    });
    console.log(JSON.stringify([answer.results[0]?.evaluationResult?.pass, null, code]));
}

main();
