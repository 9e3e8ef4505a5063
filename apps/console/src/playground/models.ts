import { useEffect, useState } from 'preact/hooks';
import { useQuery, type Query } from '../api/use-query.js';

/** An entry of `api/v1/models`; only what the console reads. */
export interface Model {
  id: string;
  type: string;
  context_length?: number;
  model_spec: {
    name?: string;
    description?: string;
    offline?: boolean;
    availableContextTokens?: number;
    maxCompletionTokens?: number;
    capabilities?: Record<string, unknown>;
    constraints?: Record<string, unknown>;
    pricing?: Record<string, unknown>;
    traits?: string[];
    voices?: string[];
    default_voice?: string;
    supported_formats?: string[];
    embeddingDimensions?: number;
    modelSource?: string;
    privacy?: string;
  };
}

const refreshMs = 15_000;

/** The models of a type, those with a worker first. */
export function useModels(type: string): Query<Model[]> {
  const query = useQuery<{ data: Model[] }>('api/v1/models', { query: { type }, refreshMs });
  const data = query.data === null ? null : query.data.data.toSorted((left, right) => rank(left) - rank(right));
  return { ...query, data };
}

/** Whether the list has arrived or failed. Before, a form would ask the default model instead of the one it then shows. */
export function isListed({ data, error }: Query<Model[]>): boolean {
  return data !== null || error !== null;
}

function rank(model: Model): number {
  return isOnline(model) ? 0 : 1;
}

export function isOnline({ model_spec: { offline } }: Model): boolean {
  return offline !== true;
}

/** The chosen model: the first of the list until the reader chooses another. */
export function useChosenModel(models: readonly Model[] | null, position = 0): [string, (id: string) => void] {
  const [chosen, choose] = useState('');
  const fallback = models?.[Math.min(position, models.length - 1)]?.id ?? '';
  const isKnown = models?.some(({ id }) => id === chosen) ?? true;
  useEffect(() => {
    if (chosen !== '' && !isKnown) choose('');
  }, [chosen, isKnown]);
  return [chosen === '' ? fallback : chosen, choose];
}

export function modelOptions(models: readonly Model[]): [string, string][] {
  return models.map((model) => {
    const name = model.model_spec.name ?? model.id;
    return [model.id, isOnline(model) ? name : `${name} (offline)`];
  });
}
