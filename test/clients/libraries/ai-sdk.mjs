import { createOpenAI } from '@ai-sdk/openai';
import { generateObject, stepCountIs, streamObject, streamText, tool } from 'ai';
import {
  animalPrompt,
  animalSchema,
  check,
  maxCallTokens,
  maxTokens,
  timeSchema,
  weatherPrompt,
  weatherSchema,
} from './schemas.mjs';

/* The AI SDK: `openai(model)` speaks the Responses API, `openai.chat(model)` chat completions. */

export function aiSdkChecks({ baseURL, apiKey, model }) {
  const openai = createOpenAI({ baseURL, apiKey });
  const routes = { responses: openai(model), chat: openai.chat(model) };
  const common = { maxRetries: 0, maxOutputTokens: maxTokens };

  return Object.entries(routes).flatMap(([route, languageModel]) => [
    {
      name: `ai generateObject (${route})`,
      run: async (index) => {
        const request = { ...common, model: languageModel, schema: animalSchema, prompt: animalPrompt(index) };
        const { object } = await generateObject(request);
        animalSchema.parse(object);
      },
    },
    {
      name: `ai streamObject (${route})`,
      run: async (index) => {
        const request = { ...common, model: languageModel, schema: animalSchema, prompt: animalPrompt(index) };
        const result = streamObject({ ...request, onError: () => undefined });
        for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
        animalSchema.parse(await result.object);
      },
    },
    {
      name: `ai streamText tools (${route})`,
      run: async (index) => {
        const called = [];
        const tools = {
          get_weather: tool({
            description: 'The weather forecast of a city.',
            inputSchema: weatherSchema,
            execute: (input) => (called.push(weatherSchema.parse(input)), { degrees: 21 }),
          }),
          get_time: tool({
            description: 'The time in a city.',
            inputSchema: timeSchema,
            execute: (input) => (called.push(timeSchema.parse(input)), { time: '12:00' }),
          }),
        };
        const result = streamText({
          ...common,
          maxOutputTokens: maxCallTokens,
          model: languageModel,
          prompt: weatherPrompt(index),
          tools,
          toolChoice: 'required',
          stopWhen: stepCountIs(1),
          onError: () => undefined,
        });
        const joined = new Map();
        const calls = [];
        for await (const part of result.fullStream) {
          if (part.type === 'error') throw part.error;
          if (part.type === 'tool-error') throw part.error;
          if (part.type === 'tool-input-delta') joined.set(part.id, (joined.get(part.id) ?? '') + part.delta);
          if (part.type === 'tool-call') calls.push(part);
        }
        check(calls.length > 0 && calls.length === called.length, `${calls.length} calls, ${called.length} executed`);
        for (const call of calls) {
          check(!call.invalid, 'an invalid call');
          const same = JSON.stringify(JSON.parse(joined.get(call.toolCallId))) === JSON.stringify(call.input);
          check(same, 'the joined fragments differ from the call');
        }
      },
    },
  ]);
}
