/** A shard by its name: `model-00002-of-00003.gguf`. */
export interface ShardName {
  /** Of all shards of the model: `model`. */
  stem: string;
  /** From 1. */
  number: number;
  count: number;
  /** Returns the name of another shard of the model. */
  nameOf(number: number, count?: number): string;
}

const digits = 5;

/** Returns null for a file that is no shard. */
export function parseShardName(path: string): ShardName | null {
  const [, stem, number, count, ending] = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/is.exec(path) ?? [];
  if (stem === undefined) return null;
  const padded = (value: number) => String(value).padStart(digits, '0');
  return {
    stem,
    number: Number(number),
    count: Number(count),
    nameOf: (other, total = Number(count)) => `${stem}-${padded(other)}-of-${padded(total)}${ending}`,
  };
}

/**
 * Groups the GGUF files among `paths` by model: a file alone, or its shards in order. Shards that are missing are listed
 * beside those that are there.
 */
export function groupShards(paths: readonly string[]): { files: string[]; missing: string[] }[] {
  const models = new Map<string, { files: string[]; missing: string[] }>();
  for (const path of paths.filter((name) => name.toLowerCase().endsWith('.gguf')).sort()) {
    const shard = parseShardName(path);
    const key = shard ? `${shard.stem}/${shard.count}` : path;
    const model = models.get(key) ?? { files: [], missing: [] };
    model.files.push(path);
    models.set(key, model);
  }
  for (const { files, missing } of models.values()) {
    const shard = parseShardName(files[0] ?? '');
    for (let number = 1; shard && number <= shard.count && missing.length < maxMissing; number++) {
      const name = shard.nameOf(number);
      if (!files.includes(name)) missing.push(name);
    }
  }
  return [...models.values()];
}

const maxMissing = 12;
