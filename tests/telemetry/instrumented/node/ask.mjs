// An application that asks a model with the AI SDK.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenTelemetry } from "@ai-sdk/otel";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { generateText, registerTelemetry } from "ai";

const sdk = new NodeSDK();
sdk.start();
registerTelemetry(new OpenTelemetry());
const provider = createOpenAICompatible({ name: "openai", baseURL: process.env.OPENAI_BASE_URL });
const { text } = await generateText({
  model: provider("gpt-4.1-mini"),
  instructions: "Be brief.",
  prompt: "Q1: What is 20 + 22?",
});
console.log(text);
await sdk.shutdown();
