import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { type ConfigClass, IntegerVariable, ListVariable, TextVariable } from './variable.js';

/* Variables of web search, which the api and the command line read. */

/** The variable that each provider needs, and the property that holds it. */
const needs = {
  searxng: { variable: 'SLUICE_SEARXNG_URL', property: 'searxngUrl' },
  brave: { variable: 'SLUICE_BRAVE_SEARCH_KEY', property: 'braveSearchKey' },
  tavily: { variable: 'SLUICE_TAVILY_KEY', property: 'tavilyKey' },
  serper: { variable: 'SLUICE_SERPER_KEY', property: 'serperKey' },
} as const;

export type SearchProviderName = keyof typeof needs;

export const searchProviderNames = Object.keys(needs) as SearchProviderName[];

/** Settings of the providers, in the order in which they are asked. */
export interface SearchSettings {
  providers: { name: SearchProviderName; /** URL or key. */ secret: string; priceUsd: number }[];
  timeoutMs: number;
  /** 0: no cache. */
  cacheMs: number;
}

/** Properties that the decorators below set. */
export interface SearchVariables {
  searchProviders: string[];
  searxngUrl?: string;
  braveSearchKey?: string;
  tavilyKey?: string;
  serperKey?: string;
  searchPrices: string[];
  searchTimeoutMs: number;
  searchCacheMs: number;
}

const keyOf = (variable: string, provider: SearchProviderName): PropertyDecorator =>
  TextVariable(variable, { about: `API key of the search provider \`${provider}\`.`, optional: true, secret: true });

const pricePattern = /^([a-z]+)=(\d{1,4}(?:\.\d{1,9})?)$/;

/** Prices name known providers once each, and each provider has what it needs. */
@ValidatorConstraint({ name: 'isSearchable' })
class IsSearchable implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    return problemOf(object as SearchVariables) === null;
  }

  defaultMessage({ object }: ValidationArguments): string {
    return problemOf(object as SearchVariables) ?? '';
  }
}

function problemOf(variables: SearchVariables): string | null {
  const { searchProviders, searchPrices } = variables;
  if (!Array.isArray(searchProviders) || !Array.isArray(searchPrices)) return null;
  for (const name of searchProviders) {
    if (!isProvider(name)) continue;
    const { variable, property } = needs[name];
    if (variables[property] === undefined) return `${variable} is not set; SLUICE_SEARCH_PROVIDERS names ${name}.`;
  }
  if (new Set(searchProviders).size < searchProviders.length) return 'SLUICE_SEARCH_PROVIDERS names a provider twice.';
  const bad = searchPrices.find((text) => !isProvider(pricePattern.exec(text)?.[1] ?? ''));
  return bad === undefined ? null : `SLUICE_SEARCH_PRICES has "${bad}"; expected a price such as brave=0.01.`;
}

function isProvider(name: string): name is SearchProviderName {
  return Object.hasOwn(needs, name);
}

const defaultPriceUsd = 0.01;

export function searchSettingsOf(variables: SearchVariables): SearchSettings {
  const { searchProviders, searchPrices, searchTimeoutMs: timeoutMs, searchCacheMs: cacheMs } = variables;
  const prices = new Map(searchPrices.map((text) => pricePattern.exec(text)).map((match) => [match?.[1], match?.[2]]));
  const providers = searchProviders.filter(isProvider).map((name) => ({
    name,
    secret: variables[needs[name].property] ?? '',
    priceUsd: Number(prices.get(name) ?? defaultPriceUsd),
  }));
  return { providers, timeoutMs, cacheMs };
}

/** Adds the variables of web search. */
export function WithSearch<Base extends ConfigClass>(base: Base) {
  class WithSearch extends base {
    @ListVariable('SLUICE_SEARCH_PROVIDERS', {
      about: 'Web search providers in order; default: none.',
      choices: searchProviderNames,
      default: '',
    })
    searchProviders!: string[];

    @TextVariable('SLUICE_SEARXNG_URL', {
      about: 'SearXNG server; its `search.formats` must include `json`.',
      optional: true,
      pattern: /^https?:\/\/[^?#]+$/,
      expected: 'an http or https URL such as http://searxng:8080',
    })
    searxngUrl?: string;

    @keyOf(needs.brave.variable, 'brave')
    braveSearchKey?: string;

    @keyOf(needs.tavily.variable, 'tavily')
    tavilyKey?: string;

    @keyOf(needs.serper.variable, 'serper')
    serperKey?: string;

    @ListVariable('SLUICE_SEARCH_PRICES', {
      about: 'USD per search, by provider; default: 0.01 each.',
      default: '',
      expected: `a price by provider (${searchProviderNames.join(', ')}) such as brave=0.01, separated by commas`,
    })
    searchPrices!: string[];

    @IntegerVariable('SLUICE_SEARCH_TIMEOUT_MS', {
      about: 'Time a provider may take before the next one is asked.',
      default: 8_000,
      min: 100,
      max: 60_000,
    })
    searchTimeoutMs!: number;

    @IntegerVariable('SLUICE_SEARCH_CACHE_MS', {
      about: 'Time search results are stored, encrypted, for their account.',
      default: 600_000,
      min: 0,
      max: 604_800_000,
    })
    searchCacheMs!: number;

    @Validate(IsSearchable)
    get search(): SearchSettings {
      return searchSettingsOf(this);
    }
  }
  return WithSearch;
}
