/* Prompts by how much of the answer is in them, from nothing to nearly all. */

/** One answer to generate. */
export interface SpeculationTask {
  category: string;
  prompt: string;
  /** Null: any text. */
  schema: object | null;
}

const article = `The harbor of Lindvik was built for herring. In 1908 the town drove four hundred oak piles into the mud and
roofed the quay with tarred planks, and for thirty years the boats came in every morning but Sunday. When the herring
left in 1939, the quay stood empty. The council sold the cranes and kept the ice cellar, because nobody wanted it. In 1961 a
school of divers rented the ice cellar for one summer. They stayed for eleven years, and their teacher, Agnes Holm, drew
the first map of the sea floor between the islands: forty sheets, each on the back of an old shipping form. The map
showed that the current turns twice a day at the eastern mole, and that the mud behind the mole grows by two
centimeters a year. In 1987 the state wanted to build a terminal for oil there. The council answered with the map. An
engineer from the capital measured the current again, found the same numbers, and the terminal went elsewhere. Today
the quay has a market, a library in the ice cellar and a small yard in which wooden boats are repaired. The piles of 1908
still carry all of it: of four hundred, thirty-one were replaced. Every spring the pupils of the school measure the mud
behind the mole and enter it on sheet forty-one, which they began themselves.`;

const code = `export interface Reading {
  sensor: string;
  at: number;
  value: number;
}

export class ReadingStore {
  private readonly readings = new Map<string, Reading[]>();

  constructor(private readonly maxPerSensor: number) {}

  add(reading: Reading): void {
    const list = this.readings.get(reading.sensor) ?? [];
    list.push(reading);
    if (list.length > this.maxPerSensor) list.shift();
    this.readings.set(reading.sensor, list);
  }

  latest(sensor: string): Reading | null {
    const list = this.readings.get(sensor);
    if (list === undefined || list.length === 0) return null;
    return list[list.length - 1];
  }

  average(sensor: string, from: number, to: number): number | null {
    const list = this.readings.get(sensor) ?? [];
    const inside = list.filter(({ at }) => at >= from && at <= to);
    if (inside.length === 0) return null;
    const sum = inside.reduce((total, { value }) => total + value, 0);
    return sum / inside.length;
  }

  remove(sensor: string): boolean {
    return this.readings.delete(sensor);
  }
}`;

const letter = `Order 1041 of Marta Oliveira, Rua das Flores 12, Porto: three pairs of walking socks, size medium, at 8.50 euros each,
and one rain jacket, size large, at 129.00 euros. Order 1042 of Jonas Berg, Storgatan 5, Uppsala: two enamel mugs, blue, at
11.25 euros each, one camping kettle at 34.90 euros and six tent pegs at 1.10 euros each. Order 1043 of Aiko Tanaka, Nishiki
8, Kyoto: one sleeping bag, size long, at 214.00 euros, and one inflatable mat at 89.50 euros.`;

const item = {
  type: 'object',
  properties: { name: { type: 'string' }, count: { type: 'integer' }, price: { type: 'number' } },
  required: ['name', 'count', 'price'],
  additionalProperties: false,
};

const order = {
  type: 'object',
  properties: {
    number: { type: 'integer' },
    customer: { type: 'string' },
    address: { type: 'string' },
    items: { type: 'array', items: item },
  },
  required: ['number', 'customer', 'address', 'items'],
  additionalProperties: false,
};

const orders = {
  type: 'object',
  properties: { orders: { type: 'array', items: order } },
  required: ['orders'],
  additionalProperties: false,
};

const prompts: readonly SpeculationTask[] = [
  { category: 'story', prompt: 'Write a long story about a sailor and a heron.', schema: null },
  { category: 'summary', prompt: `Summarize this article in one paragraph.\n\n${article}`, schema: null },
  {
    category: 'code edit',
    prompt: `Rename the method \`latest\` to \`newest\` and return the whole file.\n\n\`\`\`ts\n${code}\n\`\`\``,
    schema: null,
  },
  { category: 'json', prompt: `Return the orders of this letter as JSON.\n\n${letter}`, schema: orders },
];

export const categories = prompts.map(({ category }) => category);

/** Returns the same prompts with a word of their own, so that no run finds the prompt of another one in the cache. */
export function tasksOf(category: string, run: number, streams: number): SpeculationTask[] {
  const task = prompts.find((each) => each.category === category) as SpeculationTask;
  return Array.from({ length: streams }, (_, stream) => {
    return { ...task, prompt: `(Request ${run * 10 + stream + 1}.) ${task.prompt}` };
  });
}
