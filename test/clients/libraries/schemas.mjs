import { z } from 'zod';
import { z as z3 } from 'zod/v3';

/*
 * What the libraries ask for. Strings are bounded, so that a response of the small model ends; everything else is left
 * to the schema and to the service.
 */

const colors = ['black', 'white', 'brown', 'gray', 'orange'];
const habitats = ['forest', 'desert', 'river', 'mountain', 'farm'];
const cities = ['Paris', 'Rome', 'Lima', 'Oslo'];

export const animalSchema = z.object({
  name: z.string().min(1).max(20),
  legs: z.number().int().min(0).max(8),
  tame: z.boolean(),
  color: z.enum(colors),
  habitats: z.array(z.enum(habitats)).min(1).max(2),
});

/** The same in the older form that instructor reads. */
export const olderAnimalSchema = z3.object({
  name: z3.string().min(1).max(20),
  legs: z3.number().int().min(0).max(8),
  tame: z3.boolean(),
  color: z3.enum(colors),
  habitats: z3.array(z3.enum(habitats)).min(1).max(2),
});

export const weatherSchema = z.object({
  city: z.enum(cities),
  days: z.number().int().min(1).max(7),
});

export const timeSchema = z.object({ city: z.enum(cities), format: z.enum(['12h', '24h']) });

const animals = ['dog', 'cow', 'duck', 'camel', 'goat', 'cat', 'horse', 'frog', 'bear', 'owl'];

/** A different prompt per run. */
export function animalPrompt(index) {
  return `Describe animal ${index + 1}: a ${animals[index % animals.length]}.`;
}

export function weatherPrompt(index) {
  const other = cities[(index + 1) % cities.length];
  return `Request ${index + 1}: what is the weather in ${cities[index % cities.length]}, and what time is it in ${other}?`;
}

/** Bound of a response, far above what the schemas allow. */
export const maxTokens = 300;

/** Bound of a response with several calls: the small model goes on calling until there is no room for another. */
export const maxCallTokens = 150;

export function check(holds, what) {
  if (!holds) throw new Error(what);
}
