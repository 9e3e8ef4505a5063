/** Returns the quality value of a type in an `Accept` header; 0 when it is absent. */
export function acceptedQuality(accept: string | undefined, type: string): number {
  for (const part of accept?.toLowerCase().split(',') ?? []) {
    const [name = '', ...parameters] = part.split(';').map((word) => word.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}
