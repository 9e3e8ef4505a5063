import { decoded } from './web-file-name.js';

/** A page of the hub, or one of its files, with a file or quantization behind it. */
const repositoryForm =
  /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)\/([\w.-]+\/[\w.-]+)(?:\/(?:tree|blob|resolve)\/([^/?#:]+)(?:\/([^?#:]+))?)?\/?(?:[?#][^:]*)?(?::(.+))?$/;

/**
 * Returns a source as people paste it in the form of a uri: the address of a hub's page or file, or the form that other
 * runners use (`hf.co/owner/model-GGUF:Q8_0`) becomes `hf:owner/repository[@revision][:file]`. Anything else stays as it
 * is.
 */
export function sourceFromPasted(text: string): string {
  const [, repository, revision, path, tag] = repositoryForm.exec(text.trim().replace(/^hf:\/\//, 'hf.co/')) ?? [];
  if (repository === undefined) return text;
  const file = tag ?? (path?.endsWith('.gguf') ? decoded(path) : undefined);
  const at = revision === undefined || revision === 'main' ? '' : `@${decoded(revision)}`;
  return `hf:${repository}${at}${file === undefined ? '' : `:${file}`}`;
}
