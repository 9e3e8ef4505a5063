import { builtCapabilities } from '#model-registry/manifest';
import { type ChatCompletionRequest, reasoningEfforts } from '../../contract/chat.request.js';
import type { ChatWarning } from '../../contract/chat.warning.js';
import type { ChatModelLimits } from './chat.support.js';

/** A request without what its model does not have, and what was taken from it. */
interface ReducedChat {
  request: ChatCompletionRequest;
  warnings: ChatWarning[];
}

/** The limits of a model that a request is lowered to. Its capabilities are those that are built. */
type ReducingLimits = Pick<ChatModelLimits, 'id' | 'capabilities' | 'maxCompletionTokens'>;

/**
 * Lowers what a request asks of reasoning and output to what the model has, on routes whose clients do not know the
 * model: coding agents choose these values by the name of another one. Other requests are returned as they are.
 */
export function reduceToModel(
  request: ChatCompletionRequest,
  model: ReducingLimits & Pick<ChatModelLimits, 'family' | 'reducesToModel'>,
): ReducedChat {
  if (model.reducesToModel !== true) return unchanged(request);
  const limits = { ...model, capabilities: builtCapabilities({ ...model, type: 'text' }) };
  const steps = [withoutReasoning, withKnownEffort, withShorterOutput];
  return steps.reduce<ReducedChat>((reduced, step) => {
    const { request: next, warnings } = step(reduced.request, limits);
    return { request: next, warnings: [...reduced.warnings, ...warnings] };
  }, unchanged(request));
}

function unchanged(request: ChatCompletionRequest): ReducedChat {
  return { request, warnings: [] };
}

function reduced(request: ChatCompletionRequest, param: string, message: string): ReducedChat {
  return { request, warnings: [{ code: 'reduced_to_model', param, message }] };
}

function withoutReasoning(request: ChatCompletionRequest, { id, capabilities }: ReducingLimits): ReducedChat {
  if (request.reasoning?.enabled !== true || capabilities.supportsReasoning) return unchanged(request);
  const { enabled: _enabled, ...reasoning } = request.reasoning;
  return reduced({ ...request, reasoning }, 'reasoning.enabled', `The model ${id} does not reason.`);
}

/** The next lower effort that the model has, else its lowest. */
function withKnownEffort(request: ChatCompletionRequest, { id, capabilities }: ReducingLimits): ReducedChat {
  const effort = request.reasoning?.effort ?? null;
  const { supportsReasoningEffort, reasoningEffortOptions } = capabilities;
  const options = supportsReasoningEffort ? (reasoningEffortOptions ?? []) : [];
  if (effort === null || options.includes(effort)) return unchanged(request);
  const ranked = reasoningEfforts.filter((name) => name !== 'none' && options.includes(name));
  const rank = (reasoningEfforts as readonly string[]).indexOf(effort);
  const used = ranked.findLast((name) => reasoningEfforts.indexOf(name) < rank) ?? ranked[0];
  const { effort: _effort, ...reasoning } = request.reasoning ?? {};
  const what = used === undefined ? 'has no reasoning efforts' : `uses the effort ${used}`;
  return reduced(
    { ...request, reasoning: used === undefined ? reasoning : { ...reasoning, effort: used } },
    'reasoning.effort',
    `The model ${id} ${what}.`,
  );
}

function withShorterOutput(
  request: ChatCompletionRequest,
  { id, maxCompletionTokens: max }: ReducingLimits,
): ReducedChat {
  const { max_completion_tokens: wanted } = request;
  if (typeof wanted !== 'number' || wanted <= max) return unchanged(request);
  const message = `The model ${id} generates at most ${max} tokens.`;
  return reduced({ ...request, max_completion_tokens: max }, 'max_completion_tokens', message);
}
