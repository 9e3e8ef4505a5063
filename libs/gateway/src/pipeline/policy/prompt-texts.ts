/** A job whose texts are to be checked. */
export interface ScreenedJob {
  modality: string;
  payload: object;
}

/** A text of a request that a model gets, and the field that it comes from. */
export interface PromptText {
  param: string;
  /** Null when the client sent token ids or encrypted texts, which only the model's host can read. */
  text: string | null;
}

/** Knows where the payload of each kind of job has its texts. Abstract: the catalog of the slices is not known here. */
export abstract class PromptTexts {
  abstract of(modality: string, payload: object): readonly PromptText[];
}
