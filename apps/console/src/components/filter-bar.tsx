import type { ComponentChildren, JSX } from 'preact';
import { addDays, dayIn, rangeNameOf, rangeNames, viewerZone } from '../routing/range.js';
import type { Filters } from '../routing/place.js';
import { setFilters } from '../routing/use-place.js';
import { SelectField, TextField } from './fields.js';

interface FilterBarProps {
  filters: Filters;
  children?: ComponentChildren;
}

/** The range and the shared filters of a view. They stand in the address, so a link shows the same selection. */
export function FilterBar({ filters, children }: FilterBarProps): JSX.Element {
  const name = rangeNameOf(filters);
  const zone = viewerZone();
  const choose = (range: string): void => {
    const today = dayIn(new Date(), zone);
    setFilters(
      range === 'custom' ? { range: null, from: addDays(today, -6), to: today } : { range, from: null, to: null },
    );
  };
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <SelectField label="Range" value={name} onChange={choose} options={Object.entries(rangeNames)} hint={zone} />
      {name === 'custom' && (
        <>
          <TextField label="From" type="date" value={filters['from'] ?? ''} onChange={(from) => setFilters({ from })} />
          <TextField label="To" type="date" value={filters['to'] ?? ''} onChange={(to) => setFilters({ to })} />
        </>
      )}
      <TextFilter filters={filters} name="model" label="Model" />
      {children}
    </form>
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
    />
  );
}
