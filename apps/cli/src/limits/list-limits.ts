import type { CliContext } from '../cli-context.js';

/** `sluice limits list`: the default limits and their overrides. */
export async function listLimits(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const prisma = await context.requireDatabase();
  const { limitClasses, LimitOverridesRepository, limitTable } = await import('#rate-limit');
  const overrides = await new LimitOverridesRepository(prisma).list();
  if (json) return context.output.json({ table: limitTable, overrides });
  const cell = (limit: number | null): string => (limit === null ? '-' : String(limit));
  context.output.table(
    ['CLASS', 'RPM', 'TPM', 'PARTNER RPM', 'PARTNER TPM'],
    limitClasses.map((name) => {
      const { default: own, partner } = limitTable[name];
      return [name, ...[own.requests, own.tokens, partner.requests, partner.tokens].map(cell)];
    }),
  );
  context.output.line();
  if (overrides.length === 0) return context.output.line('nothing was set instead');
  context.output.table(
    ['WHOSE', 'FOR', 'RPM', 'TPM', 'CONCURRENT'],
    overrides.map(({ accountId, apiKeyId, target, requests, tokens, concurrent = null }) => [
      apiKeyId === null ? (accountId ?? 'everybody') : `key ${apiKeyId}`,
      target,
      cell(requests),
      cell(tokens),
      cell(concurrent),
    ]),
  );
}
