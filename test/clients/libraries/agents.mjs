import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { animalPrompt, animalSchema, check, maxTokens, weatherPrompt, weatherSchema } from './schemas.mjs';

/* The OpenAI Agents SDK: a tool round and a structured final output, by both wire formats. */

setTracingDisabled(true);

export function agentsChecks({ baseURL, apiKey, model }) {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const models = {
    responses: new OpenAIResponsesModel(client, model),
    chat: new OpenAIChatCompletionsModel(client, model),
  };

  return Object.entries(models).flatMap(([route, agentModel]) => [
    {
      name: `agents tools, streamed (${route})`,
      run: async (index) => {
        const called = [];
        const getWeather = tool({
          name: 'get_weather',
          description: 'The weather forecast of a city.',
          parameters: weatherSchema,
          execute: (input) => {
            called.push(weatherSchema.parse(input));
            return `It is sunny in ${input.city}.`;
          },
          // The second turn is text: a call in it could be cut off by the token limit.
          isEnabled: () => called.length === 0,
          // Errors of the tool must not become text for the model.
          errorFunction: null,
        });
        const agent = new Agent({
          name: 'Forecaster',
          instructions: 'You use tools.',
          model: agentModel,
          tools: [getWeather],
          // After the first round the SDK goes back to `auto`, so the model reads the results of its calls.
          modelSettings: { toolChoice: 'required', parallelToolCalls: false, maxTokens: 80, store: false },
          toolUseBehavior: index % 2 === 0 ? 'stop_on_first_tool' : 'run_llm_again',
        });
        const result = await new Runner({ tracingDisabled: true }).run(agent, weatherPrompt(index), {
          stream: true,
          maxTurns: 3,
        });
        await result.completed.catch((error) => {
          // The small model may go on calling: every call was valid, only the conversation has no end. Its text behind
          // the calls may reach the token limit, which this library reports as an error.
          const isCut = called.length > 0 && /response\.incomplete/.test(error?.message);
          if (error?.constructor?.name !== 'MaxTurnsExceededError' && !isCut) throw error;
        });
        check(called.length > 0, 'the tool was not called');
      },
    },
    {
      name: `agents outputType (${route})`,
      run: async (index) => {
        const agent = new Agent({
          name: 'Describer',
          instructions: 'You describe animals.',
          model: agentModel,
          outputType: animalSchema,
          modelSettings: { maxTokens, store: false },
        });
        const result = await new Runner({ tracingDisabled: true }).run(agent, animalPrompt(index));
        animalSchema.parse(result.finalOutput);
      },
    },
  ]);
}
