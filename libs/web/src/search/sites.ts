import type { SearchQuery } from './web-search.js';

type Sites = Pick<SearchQuery, 'sites' | 'excludedSites'>;

/** The words of a query with the operators that most providers know for sites. Providers may ignore them. */
export function withSiteOperators({ query, sites = [], excludedSites = [] }: Sites & { query: string }): string {
  const wanted = sites.map((site) => `site:${site}`).join(' OR ');
  const excluded = excludedSites.map((site) => `-site:${site}`);
  return [query, sites.length > 1 ? `(${wanted})` : wanted, ...excluded].filter((part) => part !== '').join(' ');
}

/** Whether a result is on one of the wanted sites, and on none of the others. */
export function isOnSites(url: string, { sites, excludedSites = [] }: Sites): boolean {
  if (excludedSites.some((site) => isOn(url, site))) return false;
  return sites === undefined || sites.some((site) => isOn(url, site));
}

/** A site is a host with its subdomains, or the part of one below the first member of its paths. */
function isOn(url: string, site: string): boolean {
  const { hostname, pathname } = new URL(url);
  const [host = '', member] = site.toLowerCase().split('/');
  if (hostname !== host && !hostname.endsWith(`.${host}`)) return false;
  return member === undefined || pathname.split('/')[1]?.toLowerCase() === member;
}
