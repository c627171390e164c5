/** Client of evalsvc: verdicts with intervals, experiments with functions of your own, release gates. */

import type { components } from "./api.js";
import { type EvalOptions, type EvalResult, type Metric, type RunOptions, type Task, readMetric, resumeEval, runEval } from "./experiments.js";
import { type Call, type ClientOptions, PATIENT_RETRIES, Transport, sleep } from "./transport.js";

export type { components, paths } from "./api.js";
export type { EvalOptions, EvalResult, Example, Metric, MetricEstimate, PlanOptions, RunOptions, Task } from "./experiments.js";
export { type ClientOptions, EvalsvcError, type FieldError } from "./transport.js";

type Schemas = components["schemas"];
export type EvaluateBody = Schemas["EvaluateBody"];
export type EvaluateAnswer = Schemas["EvaluateAnswer"];
export type GateBody = Schemas["GateBody"];
export type Gate = Schemas["GateOut"];
export type Output = Schemas["OutputFacts"];
export type BatchScores = Schemas["BatchScores"];
export type History = Schemas["History"];

/** A gate whose outcome is not `pass`. `gate` has the evidence. */
export class GateFailed extends Error {
    override readonly name = "GateFailed";

    constructor(readonly gate: Gate) {
        super(`${gate.outcome}: ${gate.summary}`);
    }
}

export interface ScoreFileOptions {
    /** `evaluator`, `evaluator/profile`, or a metric as the API has it. */
    evaluators: readonly (string | Metric)[];
    /** The file's name, whose ending says the format. */
    fileName: string;
    /** The experiment's name. */
    name?: string;
    /** Field to column, such as `{ output: "Answer" }`, where names do not say it. */
    fieldMapping?: Record<string, string>;
    /** Milliseconds to wait for scores of workers. */
    wait?: number;
}

const LONGEST_WAIT_SECONDS = 25;
const POLL_MILLISECONDS = 500;

export class Client {
    private readonly transport: Transport;

    constructor(options: ClientOptions = {}) {
        this.transport = new Transport(options);
    }

    /** Call any address of the API. */
    request<T>(method: string, path: string, call: Call = {}): Promise<T> {
        return this.transport.json<T>(method, path, call);
    }

    /**
     * Judge a sample. Verdicts that are queued are waited for, up to `wait` milliseconds; what is unfinished then has
     * the status `pending`, and `evaluation(answer.id)` asks again.
     */
    async evaluate(body: EvaluateBody, { wait = 60_000 }: { wait?: number } = {}): Promise<EvaluateAnswer> {
        const deadline = Date.now() + wait;
        let response = await this.transport.call("POST", "/v1/evaluate", { json: body, headers: prefer(deadline) });
        for (;;) {
            const answer = (await response.json()) as EvaluateAnswer;
            if (answer.id === null || Date.now() >= deadline || answer.results.every((result) => result.status !== "pending")) return answer;
            await sleep(Math.min(1000 * Number(response.headers.get("retry-after") ?? 0), Math.max(0, deadline - Date.now())));
            response = await this.transport.call("GET", `/v1/evaluate/${answer.id}`, { headers: prefer(deadline) });
        }
    }

    /** Return the verdicts of an evaluation so far. */
    evaluation(id: string): Promise<EvaluateAnswer> {
        return this.transport.json("GET", `/v1/evaluate/${encodeURIComponent(id)}`);
    }

    /** Return the captured scores of an evaluator and their interval. */
    history(evaluator: string, query: Record<string, string | number | boolean> = {}): Promise<History> {
        return this.transport.json("GET", "/v1/history", { query: { evaluator, ...query } });
    }

    /** Score the outputs in a file, of any format of datasets: each row, and means with intervals. */
    async scoreFile(file: Blob, options: ScoreFileOptions): Promise<BatchScores> {
        const deadline = Date.now() + (options.wait ?? 600_000);
        const form = new FormData();
        form.set("file", file, options.fileName);
        form.set("metrics", JSON.stringify(options.evaluators.map(readMetric)));
        if (options.name) form.set("name", options.name);
        if (options.fieldMapping) form.set("custom_field_mapping", JSON.stringify(options.fieldMapping));
        const scores = await this.transport.json<BatchScores>("POST", "/v1/score/batch", { form });
        let { n_pending: nPending, metrics } = scores;
        while (nPending && Date.now() < deadline) {
            await sleep(POLL_MILLISECONDS);
            const live = await this.transport.json<Schemas["LiveAnswer"]>("GET", `/v1/experiments/${scores.experiment_id}/live`);
            metrics = live.configs[0]?.metrics ?? metrics;
            nPending = Object.values(metrics).reduce((sum, metric) => sum + metric.n_pending, 0);
        }
        if (nPending === scores.n_pending) return scores;
        const results: Output[] = [];
        for await (const row of this.results(scores.experiment_id)) results.push(row);
        return { ...scores, n_pending: nPending, metrics, results };
    }

    /** Run a function over examples; the service keeps the outputs, scores them and says how sure the scores are. */
    eval(task: Task, options: EvalOptions): Promise<EvalResult> {
        return runEval(this.transport, task, options);
    }

    /** Continue an experiment that this or another process has begun. */
    resume(experimentId: string, task: Task, options: RunOptions = {}): Promise<EvalResult> {
        return resumeEval(this.transport, experimentId, task, options);
    }

    /** Yield the outputs of an experiment with their scores, page after page. */
    async *results(experimentId: string, query: Record<string, string | number | boolean> = {}): AsyncGenerator<Output> {
        let cursor: string | null = null;
        do {
            const path = `/v1/experiments/${encodeURIComponent(experimentId)}/results`;
            const call: Call = { query: { ...query, cursor }, retries: PATIENT_RETRIES };
            const page: Schemas["OutputPage"] = await this.transport.json("GET", path, call);
            yield* page.results;
            cursor = page.next_cursor;
        } while (cursor);
    }

    /** Decide a gate, which is stored with its evidence: `pass`, `fail` or `undecided`. */
    async gate(body: GateBody): Promise<Gate> {
        return (await this.transport.json<Schemas["GateAnswer"]>("POST", "/v1/gates", { json: body })).gate;
    }

    /** Decide a gate. Throws GateFailed unless it passes, also when it is undecided. */
    async requireGate(body: GateBody): Promise<Gate> {
        const gate = await this.gate(body);
        if (gate.outcome !== "pass") throw new GateFailed(gate);
        return gate;
    }
}

function prefer(deadline: number): Record<string, string> {
    const seconds = Math.min(LONGEST_WAIT_SECONDS, Math.floor((deadline - Date.now()) / 1000));
    return seconds > 0 ? { Prefer: `wait=${seconds}` } : {};
}

