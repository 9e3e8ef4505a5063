import { PlatformError } from '#common';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';

export interface ReviewOptions {
  rating: string;
  message?: string;
  username: string;
  account?: string;
  locale?: string;
}

const longest = { message: 5_000, username: 100 } as const;

/** Writes a review of the operator, or on behalf of an account. */
export async function reviewCharacter(
  context: CliContext,
  slug: string,
  { json, ...options }: ReviewOptions & { json?: boolean },
): Promise<void> {
  const rating = ratingOf(options.rating);
  const message = options.message === undefined ? null : textOf('message', options.message);
  const username = textOf('username', options.username);
  const locale = localeOf(options.locale);
  const accountId = await accountOf(context, options.account);
  const characters = await context.requireCharacters();
  const review = await characters.review(slug, { rating, message, username, locale, accountId });
  if (json) return context.output.json(review);
  context.output.line(review.id);
  context.next(`sluice characters show ${slug}`);
}

async function accountOf(context: CliContext, account: string | undefined): Promise<string | null> {
  return account === undefined ? null : (await resolveAccount(context, account)).id;
}

function ratingOf(text: string): number {
  if (/^[1-5]$/.test(text)) return Number(text);
  throw new PlatformError('INVALID_REQUEST', '--rating must be 1, 2, 3, 4 or 5.');
}

function textOf(name: keyof typeof longest, option: string): string {
  const text = option.trim();
  if (text !== '' && [...text].length <= longest[name] && !text.includes('\0')) return text;
  throw new PlatformError('INVALID_REQUEST', `--${name} must have 1 to ${longest[name]} characters.`);
}

function localeOf(text: string | undefined): string | null {
  if (text === undefined || /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(text)) return text ?? null;
  throw new PlatformError('INVALID_REQUEST', '--locale must be a language such as en or pt-BR.');
}
