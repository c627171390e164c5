/** HTTP calls to one service with one API key, with retries. A POST has a key, so that a repeated one has one effect. */

declare const process: { env: Record<string, string | undefined> } | undefined;

export interface ClientOptions {
    /** Else `EVALSVC_BASE_URL` or `EVALSVC_URL`. */
    baseUrl?: string;
    /** Else `EVALSVC_API_KEY`. */
    apiKey?: string;
    /** Milliseconds for one answer. */
    timeout?: number;
    /** How often a call is repeated on limits, outages and broken connections. */
    retries?: number;
    /** What sends, in place of the global `fetch`. */
    fetch?: typeof fetch;
}

export interface FieldError {
    /** A JSON pointer to the field. */
    pointer: string;
    detail: string;
}

/** A call that the service refused (`status` above 0), or that did not reach it (`status` 0). */
export class EvalsvcError extends Error {
    override readonly name = "EvalsvcError";

    constructor(
        message: string,
        readonly code: string,
        readonly status: number,
        readonly errors: readonly FieldError[] = [],
        readonly remedy: string | null = null,
        readonly requestId: string | null = null,
    ) {
        super(remedy ? `${message} ${remedy}` : message);
    }
}

export interface Call {
    query?: Record<string, string | number | boolean | null | undefined>;
    json?: unknown;
    form?: FormData;
    headers?: Record<string, string>;
    retries?: number;
    signal?: AbortSignal;
}

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
const LONGEST_RETRY_AFTER = 90_000;
/** Of calls within an experiment, whose hours of work outlive a restart of the service. */
export const PATIENT_RETRIES = 10;

export class Transport {
    readonly baseUrl: string;
    private readonly apiKey: string;
    private readonly timeout: number;
    private readonly retries: number;
    private readonly send: typeof fetch;

    constructor(options: ClientOptions = {}) {
        const env = typeof process === "undefined" ? {} : process.env;
        const url = options.baseUrl ?? env["EVALSVC_BASE_URL"] ?? env["EVALSVC_URL"];
        const key = options.apiKey ?? env["EVALSVC_API_KEY"];
        if (!url) {
            const remedy = "Pass `baseUrl`, or set EVALSVC_BASE_URL.";
            throw new EvalsvcError("The address of the service is not known.", "no_base_url", 0, [], remedy);
        }
        if (!key) {
            throw new EvalsvcError("There is no API key.", "no_api_key", 0, [], "Pass `apiKey`, or set EVALSVC_API_KEY.");
        }
        this.baseUrl = url.replace(/\/+$/, "");
        this.apiKey = key;
        this.timeout = options.timeout ?? 60_000;
        this.retries = options.retries ?? 3;
        this.send = options.fetch ?? fetch;
    }

    /** Return the JSON of an answer. */
    async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
        const response = await this.call(method, path, call);
        return (response.status === 204 ? undefined : await response.json()) as T;
    }

    /** Return an answer of 2xx. Throws an EvalsvcError for any other one, and when there is none. */
    async call(method: string, path: string, call: Call = {}): Promise<Response> {
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(call.query ?? {})) {
            if (value !== null && value !== undefined) query.set(name, String(value));
        }
        const url = this.baseUrl + path + (query.size ? `?${query}` : "");
        const headers: Record<string, string> = { "X-API-KEY": this.apiKey, ...call.headers };
        if (method === "POST") headers["Idempotency-Key"] ??= crypto.randomUUID();
        const body = await writeBody(call, headers);
        const last = call.retries ?? this.retries;
        for (let attempt = 0; ; attempt++) {
            const [response, error] = await this.attempt(url, { method, headers, body }, call.signal);
            if (error === null) return response;
            const pause = attempt < last && mayRetry(response, error) ? pauseAfter(response, attempt) : null;
            if (pause === null || call.signal?.aborted) throw error;
            await sleep(pause, call.signal);
        }
    }

    private async attempt(
        url: string,
        init: RequestInit,
        signal: AbortSignal | undefined,
    ): Promise<[Response, null] | [Response | null, EvalsvcError]> {
        const timeout = AbortSignal.timeout(this.timeout);
        let response: Response;
        try {
            response = await this.send(url, { ...init, signal: signal ? AbortSignal.any([timeout, signal]) : timeout });
        } catch (reason) {
            const code = timeout.aborted ? "timeout" : signal?.aborted ? "aborted" : "unreachable";
            const detail = timeout.aborted ? "did not answer in time" : "cannot be reached";
            return [null, new EvalsvcError(`${this.baseUrl} ${detail}: ${describe(reason)}.`, code, 0)];
        }
        return response.ok ? [response, null] : [response, await readError(response)];
    }
}

async function writeBody(call: Call, headers: Record<string, string>): Promise<BodyInit | null> {
    if (call.json !== undefined) {
        headers["Content-Type"] = "application/json";
        return JSON.stringify(call.json, refuseNumbers);
    }
    if (call.form === undefined) return null;
    // Written once: a repeated request has the same body, and so the same boundary.
    const written = new Response(call.form);
    headers["Content-Type"] = written.headers.get("content-type") ?? "multipart/form-data";
    return written.arrayBuffer();
}

function refuseNumbers(name: string, value: unknown): unknown {
    if (typeof value === "number" && !Number.isFinite(value)) {
        throw new TypeError(`${name || "A value"} is ${value}, which JSON does not have.`);
    }
    return value;
}

async function readError(response: Response): Promise<EvalsvcError> {
    const text = await response.text().catch(() => "");
    let problem: Record<string, unknown> = {};
    try {
        const parsed: unknown = JSON.parse(text);
        if (parsed !== null && typeof parsed === "object") problem = parsed as Record<string, unknown>;
    } catch {
        // A proxy's page: the status says what there is to say.
    }
    const detail = typeof problem["detail"] === "string" ? problem["detail"] : `The service answered ${response.status}.`;
    return new EvalsvcError(
        detail,
        typeof problem["code"] === "string" ? problem["code"] : "http_error",
        response.status,
        Array.isArray(problem["errors"]) ? (problem["errors"] as FieldError[]) : [],
        typeof problem["remedy"] === "string" ? problem["remedy"] : null,
        typeof problem["request_id"] === "string" ? problem["request_id"] : response.headers.get("x-request-id"),
    );
}

function mayRetry(response: Response | null, error: EvalsvcError): boolean {
    if (response === null) return true;
    return response.status === 429 || response.status >= 500 || (response.status === 409 && error.code === "in_progress");
}

/** Return milliseconds to wait, at random on top of `Retry-After`; null if that is too long. */
function pauseAfter(response: Response | null, attempt: number): number | null {
    const asked = 1000 * Number(response?.headers.get("retry-after") ?? 0) || 0;
    return asked > LONGEST_RETRY_AFTER ? null : asked + Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
}

export function describe(reason: unknown): string {
    if (!(reason instanceof Error)) return String(reason);
    return reason.cause instanceof Error ? `${reason.message} (${reason.cause.message})` : reason.message;
}

/** Wait; an abort ends the wait early. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
}
