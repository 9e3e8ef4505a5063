import { type HubArchitecture, findHubArchitecture, hubArchitectures } from './hub-architectures.js';
import type { HubConfig } from './hub-config.js';

/** Classes that end so are the layers of the class `<name>ForCausalLM`, with no output layer or that of a score. */
const layersClass = /^(\w+?)(?:Model|ForSequenceClassification)$/;

/**
 * Returns the table's entry for a decoder that writes no text: published under its own class, under that of its layers,
 * or with a score. Throws `INVALID_MODEL` that names the architecture and the supported ones.
 */
export function findPoolingArchitecture(config: HubConfig): HubArchitecture {
  const { architectures } = config.values;
  const [name = ''] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (name.startsWith('Gemma3') && config.flag('use_bidirectional_attention', false)) {
    return { ...findByClass('Gemma3ForCausalLM'), architecture: 'gemma-embedding' };
  }
  const [, stem = ''] = layersClass.exec(name) ?? [];
  const className = `${stem.replace(/Text$/, '')}ForCausalLM`;
  return Object.hasOwn(hubArchitectures, className) ? findByClass(className) : findHubArchitecture(config);
}

function findByClass(name: string): HubArchitecture {
  const found = hubArchitectures[name];
  if (found === undefined) throw new Error(`There is no architecture ${name}.`);
  return found;
}
