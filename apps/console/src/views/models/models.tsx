import type { JSX } from 'preact';
import { Badge } from '../../components/badge.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { useQuery } from '../../api/use-query.js';
import { formatCount } from '../../format/numbers.js';
import type { Model } from '../../playground/models.js';
import type { ViewProps } from '../../shell/view-props.js';
import { OperatedModels } from './operated-models.js';
import { PriceList } from './price-list.js';

const refreshMs = 15_000;

/** The models that are served; an operator also places and removes them. */
export function Models({ session }: ViewProps): JSX.Element {
  return session.role === 'operator' ? <OperatedModels /> : <ServedModels />;
}

function ServedModels(): JSX.Element {
  const models = useQuery<{ data: Model[] }>('api/v1/models', { query: { type: 'all' }, refreshMs });
  return (
    <QueryView query={models}>
      {({ data }) => (
        <Table
          caption="Models"
          rows={data}
          rowKey={({ id }) => id}
          empty="No model is served."
          columns={[
            { title: 'Model', cell: ({ id }) => <code>{id}</code>, sort: ({ id }) => id },
            { title: 'Name', cell: ({ model_spec: { name } }) => name ?? '–' },
            { title: 'Type', cell: ({ type }) => type, sort: ({ type }) => type },
            {
              title: 'State',
              cell: ({ model_spec: { offline } }) => <Badge state={offline === true ? 'offline' : 'online'} />,
            },
            {
              title: 'Context',
              cell: ({ context_length: tokens }) => formatCount(tokens),
              sort: ({ context_length: tokens }) => tokens ?? null,
              isNumber: true,
            },
            {
              title: 'Prices in USD',
              cell: ({ type, model_spec: { pricing } }) => <PriceList prices={pricing ?? null} type={type} />,
            },
          ]}
        />
      )}
    </QueryView>
  );
}
