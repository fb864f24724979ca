// From a panel's answers to Grafana's data frames: its transformations, units, thresholds and colours, by Grafana's code.
const {
  applyFieldOverrides, cacheFieldDisplayNames, createDataFrame, FieldConfigOptionsRegistry, FieldType, standardTransformers,
  standardTransformersRegistry, transformDataFrame,
} = require('@grafana/data');
const { firstValueFrom } = require('rxjs');

standardTransformersRegistry.setInit(() =>
  [standardTransformers.mergeTransformer, standardTransformers.organizeFieldsTransformer].map((one) => ({
    id: one.id, name: one.name, description: '', transformation: () => Promise.resolve(one), editor: () => null, imageDark: '', imageLight: '',
  })),
);

// Options of the classic model that our dashboards use; applyFieldOverrides copies only those that it knows.
const KNOWN = ['unit', 'min', 'max', 'decimals', 'noValue', 'thresholds', 'color', 'mappings'];
const CUSTOM = ['drawStyle', 'lineWidth', 'fillOpacity', 'showPoints', 'spanNulls', 'width'];
const option = (id, isCustom) => ({
  id: isCustom ? `custom.${id}` : id, path: id, name: id, isCustom,
  process: (value) => value, shouldApply: () => true, override: (value) => value, editor: () => null, settings: {},
});
const registry = new FieldConfigOptionsRegistry();
[...KNOWN.map((id) => option(id, false)), ...CUSTOM.map((id) => option(id, true))].forEach((one) => registry.register(one));

const EVERY = 30000;

function frame(answer) {
  if (answer.columns) {
    const labels = Object.entries(answer.columns).map(([name, values]) => ({ name, type: FieldType.string, values }));
    return createDataFrame({
      fields: [...labels, { name: answer.heading, type: FieldType.number, values: answer.values }],
    });
  }
  return createDataFrame({
    fields: [
      { name: 'Time', type: FieldType.time, values: answer.times, config: { interval: EVERY } },
      {
        name: 'Value', type: FieldType.number, values: answer.values, labels: answer.labels,
        config: { displayNameFromDS: answer.name || undefined },
      },
    ],
  });
}

async function fieldsOf(panel, theme) {
  const frames = (panel.frames ?? []).map(frame).filter((one) => one.length > 0);
  const changed = await firstValueFrom(transformDataFrame(panel.transformations ?? [], frames));
  const colour = panel.type === 'timeseries' ? { mode: 'palette-classic' } : { mode: 'thresholds' };
  const config = panel.fieldConfig ?? { defaults: {}, overrides: [] };
  const made = applyFieldOverrides({
    data: changed, theme, timeZone: 'utc', replaceVariables: (text) => text, fieldConfigRegistry: registry,
    fieldConfig: { ...config, defaults: { color: colour, ...config.defaults } },
  });
  cacheFieldDisplayNames(made);
  return made;
}

module.exports = { fieldsOf };
