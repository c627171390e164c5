// Calls evaluate as somebody would who has nothing but the OpenAPI document, and prints the verdict with its interval.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

type Interval = components["schemas"]["ConfidenceInterval"];

const client = createClient<paths>({
    baseUrl: process.env.EVALSVC_URL ?? "",
    headers: { "X-API-KEY": process.env.EVALSVC_API_KEY ?? "" },
});

function shown(interval: Interval | null) {
    return interval && { of: interval.of, n: interval.n, lower: interval.lower, upper: interval.upper };
}

const { data, error } = await client.POST("/v1/evaluate", {
    body: {
        evaluators: [{ evaluator: "exact-match" }],
        task_output: "Paris",
        gold_answer: "Paris",
        app: "typed",
        confidence_interval_strategy: "wilson",
    },
});
if (error) {
    throw new Error(`${error.status} ${error.code}: ${error.remedy}`);
}
for (const { evaluator_id, status, evaluation_result: verdict } of data.results) {
    const interval = verdict ? shown(verdict.additional_info?.confidence_interval ?? null) : null;
    console.log(JSON.stringify({ evaluator_id, status, pass: verdict?.pass, score: verdict?.score_raw, interval }));
}

// What does not compile: these lines are errors, and `tsc` fails where they are none.
// @ts-expect-error a list is asked for
await client.POST("/v1/evaluate", { body: { evaluators: "exact-match" } }).catch(() => null);
// @ts-expect-error there is no such address
await client.GET("/v1/evaluate/everything").catch(() => null);
