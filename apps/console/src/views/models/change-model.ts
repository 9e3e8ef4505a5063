import type { RequestOptions } from '../../api/client.js';

/** Runs a change of a model, such as `place`, and loads the list again. */
export type ChangeModel = (id: string, action: string, options: RequestOptions) => void;
