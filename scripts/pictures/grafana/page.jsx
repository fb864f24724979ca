// A dashboard with its answers (window.board) as Grafana's components draw it, on the dashboard's own grid.
require('@fontsource/inter/400.css');
require('@fontsource/inter/500.css');
const React = require('react');
const { createRoot } = require('react-dom/client');
const { createTheme } = require('@grafana/data');
const { GlobalStyles, PanelChrome, ThemeContext } = require('@grafana/ui');
const { bodyOf } = require('./panels.jsx');
const { fieldsOf } = require('./fields.js');

// Of Grafana's grid: a row is 30 px and a gap of 8 px.
const GAP = 8, ROW = 30, COLUMNS = 24, EDGE = 16, HEAD = 56;

function place({ x, y, w, h }) {
  const column = (window.innerWidth - 2 * EDGE + GAP) / COLUMNS;
  return { left: EDGE + x * column, top: HEAD + y * (ROW + GAP), width: w * column - GAP, height: h * (ROW + GAP) - GAP };
}

function Panel({ panel, data, theme }) {
  const at = { position: 'absolute', ...place(panel.gridPos) };
  if (panel.type === 'row') {
    return <div style={{ ...at, ...theme.typography.h5, paddingTop: 4 }}>{panel.title}</div>;
  }
  return (
    <div style={at}>
      <PanelChrome title={panel.title} width={at.width} height={at.height}>
        {(width, height) => bodyOf({ panel, data, theme, width, height })}
      </PanelChrome>
    </div>
  );
}

async function show(board, mode) {
  const theme = createTheme({ colors: { mode } });
  const panels = await Promise.all(board.panels.map(async (panel) => ({ panel, data: await fieldsOf(panel, theme) })));
  const chosen = Object.entries(board.chosen).map(([name, value]) => `${name} ${value === '.*' ? 'All' : value}`);
  document.body.style.background = theme.colors.background.canvas;
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ position: 'absolute', top: 14, left: EDGE, ...theme.typography.h4 }}>
        {board.title}
        <span style={{ ...theme.typography.body, color: theme.colors.text.secondary, marginLeft: 24 }}>
          {chosen.join('   ·   ')}
        </span>
      </div>
      {panels.map((one) => <Panel key={one.panel.id} theme={theme} {...one} />)}
    </ThemeContext.Provider>,
  );
}

show(window.board, matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
