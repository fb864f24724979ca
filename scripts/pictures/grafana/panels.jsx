// Which component draws which type of panel, with the options that Grafana's own panel plugins would hand to it.
const React = require('react');
const { dateTime, FieldType, getFieldDisplayValues } = require('@grafana/data');
const { BigValue, BigValueColorMode, BigValueGraphMode, TimeSeries } = require('@grafana/ui');
const { TableNG } = require('@grafana/ui/unstable');

function empty({ panel, theme, height }) {
  const middle = { height, display: 'flex', alignItems: 'center', justifyContent: 'center', textAlign: 'center' };
  return <div style={{ ...middle, color: theme.colors.text.secondary }}>{panel.fieldConfig.defaults.noValue}</div>;
}

function lines({ panel, data, width, height }) {
  const [from, to] = [dateTime(window.board.from), dateTime(window.board.to)];
  return (
    <TimeSeries
      frames={data} width={width} height={height} timeZone="utc" legend={panel.options.legend} options={panel.options}
      timeRange={{ from, to, raw: { from, to } }}
    />
  );
}

function number({ panel, data, theme, width, height }) {
  const [first] = getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: (text) => text,
    theme, data, timeZone: 'utc',
  });
  const value = { ...first.display, title: undefined };
  return (
    <BigValue
      value={value} theme={theme} width={width} height={height} graphMode={BigValueGraphMode.None}
      colorMode={BigValueColorMode[panel.options.colorMode === 'value' ? 'Value' : 'None']}
    />
  );
}

function table({ panel, data, width, height }) {
  return <TableNG data={data[0]} width={width} height={height} sortBy={panel.options.sortBy} structureRev={1} />;
}

const DRAWN = { timeseries: lines, stat: number, table };

function bodyOf(one) {
  const draw = DRAWN[one.panel.type];
  if (!draw) return <div>No component of @grafana/ui draws the type {one.panel.type}.</div>;
  const has = one.data.some((frame) => frame.fields.some((field) => field.type === FieldType.number && frame.length));
  return has ? draw(one) : empty(one);
}

module.exports = { bodyOf };
