import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { TermMatcher } from './term-matcher.js';

const load = createRequire(import.meta.url);

/** What the operator's policy file says. */
export interface PolicyRules {
  terms: TermMatcher | null;
  /** A model that classifies texts as well. */
  classifier: PolicyClassifier | null;
}

export interface PolicyClassifier {
  /** Id of a model with `classifies: text`. */
  model: string;
  /** Probability of a class other than the harmless one from which a text is refused. */
  threshold: number;
}

const languageTag = /^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$/;
const maxTerms = 100_000;
const maxTermLength = 200;
const modelIdPattern = /^[a-z0-9][a-z0-9._-]*$/;
const defaultThreshold = 0.9;

/**
 * Parses a policy file: YAML (or JSON) with `terms`, lists by language, and `classifier`. Throws an error that names the
 * wrong member.
 */
export function parsePolicy(text: string): PolicyRules {
  const { parse } = load('yaml') as typeof Yaml;
  const file = membersOf(parse(text) ?? {}, 'the file', ['terms', 'classifier']);
  return { terms: termsOf(file.terms), classifier: classifierOf(file.classifier) };
}

function termsOf(value: unknown): TermMatcher | null {
  if (value === undefined || value === null) return null;
  const terms = membersOf(value, 'terms');
  let count = 0;
  for (const [language, list] of Object.entries(terms)) {
    if (!languageTag.test(language)) throw new Error(`terms.${language}: must be a language such as en or pt-BR`);
    if (!Array.isArray(list)) throw new Error(`terms.${language}: must be a list of terms`);
    for (const [index, term] of list.entries()) checkTerm(term, `terms.${language}[${index}]`);
    count += list.length;
  }
  if (count > maxTerms) throw new Error(`terms: may hold at most ${maxTerms} terms`);
  return count === 0 ? null : new TermMatcher(terms as Record<string, string[]>);
}

function classifierOf(value: unknown): PolicyClassifier | null {
  if (value === undefined || value === null) return null;
  const { model, threshold = defaultThreshold } = membersOf(value, 'classifier', ['model', 'threshold']);
  if (typeof model !== 'string' || !modelIdPattern.test(model)) {
    throw new Error('classifier.model: must be the id of a model, such as toxicity-bert-tiny');
  }
  if (typeof threshold !== 'number' || !(threshold > 0 && threshold <= 1)) {
    throw new Error('classifier.threshold: must be a number above 0 and at most 1');
  }
  return { model, threshold };
}

function checkTerm(term: unknown, place: string): void {
  if (typeof term !== 'string' || term.length > maxTermLength || !/[\p{L}\p{N}]/u.test(term)) {
    throw new Error(`${place}: must be a text of 1 to ${maxTermLength} characters with a letter or digit`);
  }
}

function membersOf(value: unknown, place: string, allowed?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${place}: must be a mapping`);
  }
  const unknown = allowed === undefined ? undefined : Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown !== undefined)
    throw new Error(
      `${place === 'the file' ? '' : `${place}.`}${unknown}: is unknown; there are ${allowed?.join(' and ')}`,
    );
  return value as Record<string, unknown>;
}
