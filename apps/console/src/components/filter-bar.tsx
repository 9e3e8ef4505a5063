import type { ComponentChildren, JSX } from 'preact';
import type { Session } from '../api/session.js';
import { useQuery } from '../api/use-query.js';
import type { Filters } from '../routing/place.js';
import { addDays, dayIn, rangeNameOf, rangeNames, viewerZone } from '../routing/range.js';
import { setFilters } from '../routing/use-place.js';
import { SelectField, TextField } from './fields.js';

interface FilterBarProps {
  filters: Filters;
  session: Session;
  children?: ComponentChildren;
}

/** The range and the shared filters of a view. They stand in the address, so a link shows the same selection. */
export function FilterBar({ filters, session, children }: FilterBarProps): JSX.Element {
  const name = rangeNameOf(filters);
  const zone = viewerZone();
  const choose = (range: string): void => {
    const today = dayIn(new Date(), zone);
    const isCustom = range === 'custom';
    setFilters(isCustom ? { range: null, from: addDays(today, -6), to: today } : { range, from: null, to: null });
  };
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <SelectField label="Range" value={name} onChange={choose} options={Object.entries(rangeNames)} hint={zone} />
      {name === 'custom' && (
        <>
          <DayFilter filters={filters} name="from" label="From" />
          <DayFilter filters={filters} name="to" label="To" />
        </>
      )}
      {session.role === 'operator' && <ScopeFilter filters={filters} />}
      <TextFilter filters={filters} name="model" label="Model" />
      {session.role !== 'inference' && <KeyFilter filters={filters} />}
      {children}
    </form>
  );
}

/** The scope of an operator's figures: the installation until the reader chooses the own account. */
export function scopeOf(filters: Filters, session: Session): 'installation' | 'account' {
  return session.role === 'operator' && filters['scope'] !== 'account' ? 'installation' : 'account';
}

function ScopeFilter({ filters }: { filters: Filters }): JSX.Element {
  return (
    <SelectField
      label="Accounts"
      value={filters['scope'] === 'account' ? 'account' : ''}
      onChange={(scope) => setFilters({ scope })}
      options={[
        ['', 'All'],
        ['account', 'Mine'],
      ]}
    />
  );
}

function DayFilter({ filters, name, label }: { filters: Filters; name: string; label: string }): JSX.Element {
  return (
    <TextField
      label={label}
      type="date"
      value={filters[name] ?? ''}
      onChange={(day) => setFilters({ [name]: day })}
      isLazy
    />
  );
}

/** Keys of the account. A key of another account that a link names stays chosen. */
function KeyFilter({ filters }: { filters: Filters }): JSX.Element {
  const keys = useQuery<{ data: { id: string; description: string; last6Chars: string }[] }>('api/v1/api_keys');
  const chosen = filters['key'] ?? '';
  const known = keys.data?.data ?? [];
  const others: [string, string][] = chosen === '' || known.some(({ id }) => id === chosen) ? [] : [[chosen, chosen]];
  return (
    <SelectField
      label="API key"
      value={chosen}
      onChange={(key) => setFilters({ key })}
      options={[
        ['', 'All'],
        ...known.map(({ id, description, last6Chars }): [string, string] => [id, `${description} …${last6Chars}`]),
        ...others,
      ]}
    />
  );
}

interface TextFilterProps {
  filters: Filters;
  name: string;
  label: string;
  hint?: string;
}

export function TextFilter({ filters, name, label, hint }: TextFilterProps): JSX.Element {
  return (
    <TextField
      label={label}
      type="search"
      placeholder="All"
      hint={hint}
      value={filters[name] ?? ''}
      onChange={(value) => setFilters({ [name]: value.trim() })}
      isLazy
    />
  );
}
