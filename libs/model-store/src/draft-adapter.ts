import { PlatformError } from '#common';
import { validateManifest } from '#model-registry/manifest';
import { readInstalledBase } from './adapter/adapted-base.js';
import { adapterFile } from './adapter/adapter-file.js';
import { PeftAdapter } from './adapter/peft-adapter.js';
import type { Draft, DraftOptions } from './draft.js';
import type { AdapterDescription } from './source/adapter-description.js';

/**
 * Drafts the manifest of an adapter: what clients may ask of it is what they may ask of its base. Fails with
 * `INVALID_MODEL` if it does not fit the base.
 */
export async function draftAdapter(
  uri: string,
  found: AdapterDescription,
  { findBase, weights, contextLength, tier }: DraftOptions,
  commonFields: (bytes: number) => object,
): Promise<Draft> {
  if (weights !== undefined || contextLength !== undefined) {
    const message = `--weights and --context are those of the base; ${uri} holds an adapter.`;
    throw new PlatformError('INVALID_REQUEST', message);
  }
  if (findBase === undefined) throw new PlatformError('INVALID_REQUEST', `${uri} holds an adapter without its base.`);
  const { manifest: base, folder } = await findBase(found.baseName);
  const adapter = await PeftAdapter.open(found.files, await readInstalledBase(folder));
  const { bytes } = adapter;
  const { projections } = adapter.index();
  await adapter.close();
  const { budgets } = base.reasoning ?? {};
  const manifest = validateManifest(
    {
      ...commonFields(bytes),
      tier: tier ?? base.tier,
      sources: [found.source],
      adapterOf: base.id,
      converter: { kind: 'lora' },
      graphFile: adapterFile,
      type: 'text',
      family: 'decoder',
      contextLength: base.contextLength,
      maxCompletionTokens: base.maxCompletionTokens,
      capabilities: base.capabilities,
      constraints: base.constraints,
      ...(budgets !== undefined && { reasoning: { budgets } }),
      ...(base.inputAdapters !== undefined && { inputAdapters: base.inputAdapters }),
    },
    uri,
  );
  const ranks = [...new Set(projections.map(({ rank }) => rank))].sort((left, right) => left - right);
  return {
    manifest,
    facts: {
      summary: `LoRA of rank ${ranks.join(', ')} on ${projections.length} linear layers of ${base.id}`,
      weightsBytes: bytes,
      decoder: null,
    },
  };
}
