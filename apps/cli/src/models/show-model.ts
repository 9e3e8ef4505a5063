import { stringify } from 'yaml';
import type { CliContext } from '../cli-context.js';
import { findKnownModel } from './known-models.js';
import { fetchOnlineStates, modelState } from './online-state.js';

export async function showModel(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const { manifest, registered, disabled, installed, bundled } = await findKnownModel(context, id);
  const state = modelState(manifest, await fetchOnlineStates(await context.baseUrl()));
  const status = {
    state,
    registered,
    disabled,
    bundled,
    installed: installed && { folder: installed.folder, ...installed.record },
  };
  if (json) return context.output.json({ manifest, ...status });
  context.output.line(stringify(manifest).trimEnd());
  context.output.line();
  context.output.line(`# state: ${disabled ? 'taken offline' : state}`);
  context.output.line(`# registered: ${registered === null ? 'unknown (no database)' : registered ? 'yes' : 'no'}`);
  context.output.line(
    `# installed: ${installed ? `${installed.record.installedAt}, ${installed.record.converter}` : 'no'}`,
  );
  for (const file of installed?.record.files ?? []) context.output.line(`#   ${file.sha256}  ${file.path}`);
}
