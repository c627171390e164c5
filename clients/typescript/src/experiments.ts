/** Experiments whose outputs come from a function here: examples are leased, the function is called, outputs are posted. */

import type { components } from "./api.js";
import { EvalsvcError, PATIENT_RETRIES, type Transport, describe, sleep } from "./transport.js";

type Schemas = components["schemas"];
export type Metric = Schemas["MetricInRequest"];
export type MetricEstimate = Schemas["MetricEstimate"];
export type PlanOptions = Partial<Omit<Schemas["PlanInRequest"], "dataset_id" | "dataset_version" | "metrics" | "start">>;
type ConfigFacts = Schemas["ConfigFacts"];
type ExperimentFacts = Schemas["ExperimentFacts"];
type LeaseAnswer = Schemas["LeaseAnswer"];
type LeasedUnit = Schemas["LeasedUnit"];
type OutputsAnswer = Schemas["OutputsAnswer"];
type LiveAnswer = Schemas["LiveAnswer"];

/** What a function is called with besides the input. Nothing of it is there that the dataset does not have. */
export interface Example {
    id: string;
    expected?: unknown;
    contexts?: unknown;
    metadata?: unknown;
    /** Aborted when the evaluation is. */
    signal: AbortSignal;
}

/** Returns the output for an input: any JSON, or an object with `output` and further components such as `contexts`. */
export type Task = (input: any, example: Example) => unknown;

export interface EvalOptions {
    /** The experiment's name, and that of the dataset that is made of `inputs`. */
    name: string;
    /** `evaluator`, `evaluator/profile`, or a metric as the API has it. */
    evaluators: readonly (string | Metric)[];
    inputs?: readonly unknown[];
    /** What is expected of each input; without it evaluators that need an expectation have no score. */
    expected?: readonly unknown[];
    /** In place of `inputs`. */
    datasetId?: string;
    datasetVersion?: number;
    /** Calls at once. */
    concurrency?: number;
    /** For how many seconds an example that was taken is out of reach of other processes, should this one die. */
    leaseSeconds?: number;
    /** How often the function is called again for an input on which it threw. */
    taskRetries?: number;
    /** Continue the newest unfinished experiment of this name on the same examples; a new one where there is none. */
    resume?: boolean;
    /** Options of the plan, such as `level`, `cluster_by` or `n_samples`. */
    plan?: PlanOptions;
    /** Kept with the config and shown, such as the model's name. */
    parameters?: Record<string, unknown>;
    signal?: AbortSignal;
    onProgress?: (done: number, total: number) => void;
}

export type RunOptions = Pick<EvalOptions, "concurrency" | "leaseSeconds" | "taskRetries" | "signal" | "onProgress">;

export interface EvalResult {
    experimentId: string;
    configId: string;
    state: string;
    /** By name, each with `value`, and `lower` and `upper` for new data. */
    metrics: Record<string, MetricEstimate>;
    nOk: number;
    nError: number;
}

const ALIVE = new Set(["queued", "running"]);
const UNFINISHED = new Set(["draft", "running", "idle"]);
const UNIT_MILLISECONDS = 2_000;
const LARGEST_UNIT = 10;
const LEASE_SECONDS = 60;
const LONGEST_LEASE_SECONDS = 3_600;
const POLL_MILLISECONDS = 500;
const MAX_MESSAGE = 2_000;
const REFUSED_BODIES = new Set(["validation_failed", "body_too_large", "malformed_json"]);

export function readMetric(evaluator: string | Metric): Metric {
    if (typeof evaluator !== "string") return evaluator;
    const at = evaluator.indexOf("/");
    if (at < 0) return { name: evaluator, evaluator };
    return { name: evaluator, evaluator: evaluator.slice(0, at), criteria: evaluator.slice(at + 1) };
}

/** Run a function over examples; the service keeps the outputs, scores them and says how sure the scores are. */
export async function runEval(transport: Transport, task: Task, options: EvalOptions): Promise<EvalResult> {
    checkOptions(options);
    const dataset = options.inputs
        ? await upload(transport, options.name, options.inputs, options.expected)
        : { dataset_id: options.datasetId as string, dataset_version: options.datasetVersion ?? null };
    const found = options.resume ? await findUnfinished(transport, options.name, dataset) : null;
    const experiment = found ?? (await create(transport, task, options, dataset));
    return runExperiment(transport, task, experiment, options);
}

/** Continue an experiment, also one that another process has begun. */
export async function resumeEval(
    transport: Transport,
    id: string,
    task: Task,
    options: RunOptions,
): Promise<EvalResult> {
    return runExperiment(transport, task, await getExperiment(transport, id), options);
}

function checkOptions(options: EvalOptions): void {
    if ((options.inputs === undefined) === (options.datasetId === undefined)) {
        throw new TypeError("Pass either `inputs` or `datasetId`.");
    }
    if (options.expected && options.expected.length !== options.inputs?.length) {
        throw new TypeError(`There are ${options.inputs?.length ?? "no"} inputs and ${options.expected.length} expectations.`);
    }
}

interface DatasetReference {
    dataset_id: string;
    dataset_version: number | null;
}

/** Store examples under a name. The same examples again are the version that there is. */
async function upload(
    transport: Transport,
    name: string,
    inputs: readonly unknown[],
    expected: readonly unknown[] | undefined,
): Promise<DatasetReference> {
    const lines = inputs.map((input, i) => JSON.stringify(expected ? { input, expected: expected[i] } : { input }));
    const form = () => {
        const made = new FormData();
        made.set("file", new Blob([lines.join("\n")]), `${name}.jsonl`);
        return made;
    };
    try {
        const named = form();
        named.set("dataset_name", name);
        const made = await transport.json<Schemas["UploadedDatasetEnvelope"]>("POST", "/v1/datasets", { form: named });
        return { dataset_id: made.dataset_id, dataset_version: made.dataset.version.number };
    } catch (error) {
        if (!(error instanceof EvalsvcError) || error.code !== "already_exists") throw error;
    }
    const id = await findDataset(transport, name);
    const made = await transport.json<Schemas["DatasetVersionEnvelope"]>("POST", `/v1/datasets/${id}/versions`, { form: form() });
    return { dataset_id: id, dataset_version: made.version.number };
}

async function findDataset(transport: Transport, name: string): Promise<string> {
    const limit = 1000;
    for (let offset = 0; ; offset += limit) {
        const page = await transport.json<Schemas["DatasetList"]>("GET", "/v1/datasets", { query: { limit, offset } });
        const found = page.datasets.find((dataset) => dataset.name === name);
        if (found) return found.id;
        if (page.datasets.length < limit) throw new EvalsvcError(`Dataset ${name} was there a moment ago and is gone.`, "not_found", 404);
    }
}

async function create(transport: Transport, task: Task, options: EvalOptions, dataset: DatasetReference): Promise<ExperimentFacts> {
    const config = { name: task.name || "function", kind: "push", parameters: { runnable: task.name || "function", ...options.parameters } };
    const plan = { ...options.plan, ...dataset, metrics: options.evaluators.map(readMetric), start: true };
    const body = { name: options.name, plan, configs: [config] };
    return (await transport.json<Schemas["ExperimentAnswer"]>("POST", "/v1/experiments", { json: body })).experiment;
}

async function getExperiment(transport: Transport, id: string): Promise<ExperimentFacts> {
    return (await transport.json<Schemas["ExperimentAnswer"]>("GET", `/v1/experiments/${id}`)).experiment;
}

async function findUnfinished(transport: Transport, name: string, dataset: DatasetReference): Promise<ExperimentFacts | null> {
    let cursor: string | null = null;
    do {
        const page: Schemas["ExperimentPage"] = await transport.json("GET", "/v1/experiments", { query: { name, cursor } });
        for (const { id, plan } of page.experiments) {
            const isSame = plan?.dataset_id === dataset.dataset_id;
            const isVersion = dataset.dataset_version === null || plan?.dataset_version === dataset.dataset_version;
            if (plan && isSame && isVersion && UNFINISHED.has(plan.state)) return getExperiment(transport, id);
        }
        cursor = page.next_cursor;
    } while (cursor);
    return null;
}

async function runExperiment(
    transport: Transport,
    task: Task,
    experiment: ExperimentFacts,
    options: RunOptions,
): Promise<EvalResult> {
    const config = (experiment.configs ?? []).find((one: ConfigFacts) => one.kind === "push");
    if (!config) throw new TypeError(`Experiment ${experiment.id} has no config that a function here can run.`);
    const runner = new Runner(transport, experiment.id, config.id, task, options);
    await runner.run();
    return waitForScores(transport, experiment.id, config.id, options.signal);
}

/** Return the estimates once all scores are there: some are computed by workers after the last output. */
async function waitForScores(transport: Transport, id: string, configId: string, signal?: AbortSignal): Promise<EvalResult> {
    for (;;) {
        const live = await transport.json<LiveAnswer>("GET", `/v1/experiments/${id}/live`, { retries: PATIENT_RETRIES });
        const config = live.configs.find((one) => one.id === configId);
        if (!config) throw new EvalsvcError(`Config ${configId} was deleted.`, "not_found", 404);
        const isPending = ALIVE.has(config.state) || Object.values(config.metrics).some((metric) => metric.n_pending > 0);
        if (!isPending || signal?.aborted) {
            const { state, metrics, n_ok: nOk, n_error: nError } = config;
            return { experimentId: id, configId, state, metrics, nOk, nError };
        }
        await sleep(POLL_MILLISECONDS, signal);
    }
}

type Outcome = { output: unknown } | { error: { type: "bug"; message: string } };
type PostedOutput = { pos: number; latency_ms: number } & Outcome;
type SampledOutput = { pos: number; samples: ({ latency_ms: number } & Outcome)[] };

class Runner {
    private readonly signal: AbortSignal;
    private isOver = false;
    private nDone = 0;
    /** How long one call took lately: decides how many examples are leased at once, and for how long. */
    private milliseconds: number | null = null;

    constructor(
        private readonly transport: Transport,
        private readonly experimentId: string,
        private readonly configId: string,
        private readonly task: Task,
        private readonly options: RunOptions,
    ) {
        this.signal = options.signal ?? new AbortController().signal;
    }

    async run(): Promise<void> {
        const workers = Array.from({ length: Math.max(1, this.options.concurrency ?? 8) }, () => this.work());
        const ends = await Promise.allSettled(workers);
        const failed = ends.find((end) => end.status === "rejected");
        if (failed) throw failed.reason;
    }

    private async work(): Promise<void> {
        try {
            while (!this.isOver && !this.signal.aborted) {
                const answer = await this.lease();
                if (answer.unit) {
                    await this.runUnit(answer.unit);
                } else if (ALIVE.has(answer.state)) {
                    await sleep(answer.retry_after_ms ?? 1000, this.signal);
                } else {
                    this.isOver = true;
                }
            }
        } catch (error) {
            this.isOver = true;
            throw error;
        }
    }

    private lease(): Promise<LeaseAnswer> {
        const took = this.milliseconds;
        const n = took === null ? 1 : Math.max(1, Math.min(LARGEST_UNIT, Math.floor(UNIT_MILLISECONDS / Math.max(took, 1))));
        const seconds = Math.max(this.options.leaseSeconds ?? LEASE_SECONDS, Math.min(LONGEST_LEASE_SECONDS, Math.ceil((10 * n * (took ?? 0)) / 1000)));
        const path = `/v1/experiments/${this.experimentId}/configs/${this.configId}/lease`;
        return this.transport.json("POST", path, { json: { n, lease_seconds: seconds }, retries: PATIENT_RETRIES });
    }

    private async runUnit(unit: LeasedUnit): Promise<void> {
        const outputs: (PostedOutput | SampledOutput)[] = [];
        for (const leased of unit.examples) {
            const samples: ({ latency_ms: number } & Outcome)[] = [];
            while (samples.length < unit.n_samples && !this.signal.aborted) samples.push(await this.runOne(leased));
            // What was cut short is not recorded but given back: the next process runs it.
            if (this.signal.aborted) break;
            const [only] = samples;
            outputs.push(unit.n_samples === 1 && only ? { pos: leased.pos, ...only } : { pos: leased.pos, samples });
        }
        const answer = await this.post(unit, outputs, true);
        this.nDone += answer.accepted.length;
        if (!ALIVE.has(answer.state)) this.isOver = true;
        this.options.onProgress?.(this.nDone, Math.max(this.nDone, ...Object.values(answer.live).map((metric) => metric.N)));
    }

    private async runOne(leased: Schemas["LeasedExample"]): Promise<{ latency_ms: number } & Outcome> {
        const { id, input, expected, contexts, metadata } = leased;
        const began = performance.now();
        for (let attempt = 0; ; attempt++) {
            try {
                const output = await this.task(input, { id, expected, contexts, metadata, signal: this.signal });
                const latency = this.measure(began);
                return { latency_ms: latency, output: toJson(output) };
            } catch (reason) {
                if (attempt < (this.options.taskRetries ?? 0) && !this.signal.aborted) continue;
                const name = reason instanceof Error ? reason.name : "Error";
                const message = `${name}: ${describe(reason)}`.slice(0, MAX_MESSAGE);
                return { latency_ms: this.measure(began), error: { type: "bug", message } };
            }
        }
    }

    private measure(began: number): number {
        const took = performance.now() - began;
        this.milliseconds = this.milliseconds === null ? took : 0.7 * this.milliseconds + 0.3 * took;
        return Math.round(took * 1000) / 1000;
    }

    /** Post outputs. One that the service cannot accept becomes an error of its example, and spoils no other. */
    private async post(unit: LeasedUnit, outputs: (PostedOutput | SampledOutput)[], done: boolean): Promise<OutputsAnswer> {
        const path = `/v1/experiments/${this.experimentId}/units/${unit.id}/outputs`;
        try {
            const json = { token: unit.token, outputs, done };
            return await this.transport.json<OutputsAnswer>("POST", path, { json, retries: PATIENT_RETRIES });
        } catch (error) {
            if (!(error instanceof EvalsvcError) || !REFUSED_BODIES.has(error.code) || outputs.length === 0) throw error;
            const [first] = outputs;
            if (outputs.length === 1 && first) {
                const refused = { error: { type: "bug" as const, message: error.message.slice(0, MAX_MESSAGE) }, latency_ms: 0 };
                const isRefused = "error" in first || ("samples" in first && first.samples.every((sample) => "error" in sample));
                if (isRefused) throw error;
                const body = "samples" in first ? { pos: first.pos, samples: first.samples.map(() => refused) } : { pos: first.pos, ...refused };
                return this.post(unit, [body], done);
            }
            const accepted: number[] = [];
            let answer: OutputsAnswer | null = null;
            for (const [i, output] of outputs.entries()) {
                answer = await this.post(unit, [output], done && i === outputs.length - 1);
                accepted.push(...answer.accepted);
            }
            return { ...(answer as OutputsAnswer), accepted };
        }
    }
}

/** Return an output as JSON has it. Throws for what it has not, which `JSON.stringify` would leave out or write as null. */
function toJson(value: unknown): unknown {
    if (value === undefined) return null;
    const refuse = (name: string, part: unknown): unknown => {
        const isNumber = typeof part === "number" && !Number.isFinite(part);
        if (isNumber || typeof part === "function" || typeof part === "symbol" || typeof part === "bigint") {
            throw new TypeError(`The output${name && ` at ${name}`} is ${String(part).slice(0, 60)}, which JSON does not have.`);
        }
        return part;
    };
    return JSON.parse(JSON.stringify(value, refuse));
}
