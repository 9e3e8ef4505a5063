import { PlatformError } from '#common';
import type { WatchedFile } from '#platform/files';
import { labelsOf, type OpenCheck, type TextClassifier } from './classifiers.js';
import type { PolicyClassifier, PolicyRules } from './policy-file.js';
import type { PromptText, PromptTexts, ScreenedJob } from './prompt-texts.js';
import type { TermMatcher } from './term-matcher.js';

/** What a check says about one category of one input. */
export interface Finding {
  /** The category: The category: `terms/` and a language, or a class of a model. */
  category: string;
  /** 0 to 1. */
  score: number;
  isFlagged: boolean;
  input: 'text' | 'image';
}

/** How an examination names its texts and runs its model. */
export interface Examination {
  /** Path of the texts, to name in errors. */
  param: string;
  open: OpenCheck;
}

const noRules: PolicyRules = { terms: null, classifier: null };

/** The operator's policy for the texts of requests. Without a policy file nothing is checked. */
export class ContentPolicy {
  constructor(
    private readonly file: Pick<WatchedFile<PolicyRules>, 'current'> | null,
    private readonly texts: PromptTexts,
    private readonly classifier: TextClassifier,
  ) {}

  /** Resolves to true while texts are checked. */
  async isActive(): Promise<boolean> {
    const { terms, classifier } = await this.rules();
    return terms !== null || classifier !== null;
  }

  /**
   * Checks the texts of a job before its admission. Rejects with `CONTENT_POLICY_VIOLATION` naming the field of the
   * first text that is not allowed, with `INVALID_REQUEST` for token ids and encrypted texts, which would pass unread, and with
   * `MODEL_OFFLINE` while no worker serves the policy's model.
   */
  async screen({ modality, payload }: ScreenedJob, open: OpenCheck): Promise<void> {
    if (await this.isActive()) await this.screenTexts(this.texts.of(modality, payload), open);
  }

  /** The same for the texts of a request that runs no model. */
  async screenTexts(texts: readonly PromptText[], open: OpenCheck): Promise<void> {
    const { terms, classifier } = await this.rules();
    const unread = texts.find(({ text }) => text === null);
    if (unread !== undefined) {
      const message = `${unread.param} must be plain text: the content policy cannot read token ids and encrypted texts.`;
      throw new PlatformError('INVALID_REQUEST', message, unread.param);
    }
    const found = texts.find(({ text }) => terms !== null && terms.find(text ?? '') !== null);
    if (found !== undefined) throw violation(found.param);
    if (classifier !== null) await this.screenWith(classifier, texts, open);
  }

  /** Returns what is found in each input, which may have several texts, with every category; null without a policy. */
  async examine(inputs: readonly (readonly string[])[], { param, open }: Examination): Promise<Finding[][] | null> {
    const { terms, classifier } = await this.rules();
    if (terms === null && classifier === null) return null;
    const ofTerms = inputs.map((texts) => (terms === null ? [] : findTerms(terms, texts)));
    if (classifier === null) return ofTerms;
    const model = await open({ id: classifier.model, type: 'embedding', param });
    const limited = await model.limit();
    const written = [...new Set(inputs.flat())].filter(isWritten);
    const rows = written.length === 0 ? [] : await this.classifier.classify(limited, written);
    const rowOf = new Map(written.map((text, index) => [text, rows[index] ?? []]));
    const [, ...labels] = labelsOf(model);
    return inputs.map((texts, index) => {
      const ofClasses = labels.map((category, position): Finding => {
        const score = texts.reduce((max, text) => Math.max(max, rowOf.get(text)?.[position + 1] ?? 0), 0);
        return { category, score, isFlagged: score >= classifier.threshold, input: 'text' };
      });
      return [...(ofTerms[index] ?? []), ...ofClasses];
    });
  }

  private async screenWith(
    { model: id, threshold }: PolicyClassifier,
    texts: readonly PromptText[],
    open: OpenCheck,
  ): Promise<void> {
    const paramOf = new Map<string, string>();
    for (const { text, param } of texts) {
      if (text !== null && isWritten(text) && !paramOf.has(text)) paramOf.set(text, param);
    }
    const written = [...paramOf.keys()];
    const [first] = written;
    if (first === undefined) return;
    const model = await open({ id, type: 'embedding', param: paramOf.get(first) ?? 'model' });
    // The limits of the request itself were applied; a check takes nothing from them.
    const limited = await model.limit({ isCounted: false });
    const rows = await this.classifier.classify(limited, written);
    const refused = rows.findIndex(([, ...harmful]) => harmful.some((score) => score >= threshold));
    if (refused >= 0) throw violation(paramOf.get(written[refused] ?? '') ?? null);
  }

  private async rules(): Promise<PolicyRules> {
    return (await this.file?.current()) ?? noRules;
  }
}

function findTerms(terms: TermMatcher, texts: readonly string[]): Finding[] {
  const found = new Set(texts.flatMap((text) => [...terms.findAll(text)]));
  return terms.languages.map((language) => {
    const isFlagged = found.has(language);
    return { category: `terms/${language}`, score: isFlagged ? 1 : 0, isFlagged, input: 'text' };
  });
}

function isWritten(text: string): boolean {
  return text.trim() !== '';
}

function violation(param: string | null): PlatformError {
  return new PlatformError('CONTENT_POLICY_VIOLATION', 'The request violates the content policy.', param);
}
