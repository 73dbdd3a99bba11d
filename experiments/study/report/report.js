"use strict";
(() => {
  // Okabe and Ito 2008; the eighth is the ink. No two of the first 40 styles share colour and dash pattern.
  const colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", null, "#B8A900"];
  const darkColours = ["#4AA8E0", "#F07F35", "#2BC79A", "#E09CC4", "#F0B93A", "#8CCFF5", null, "#F0E442"];
  const dashes = ["solid", "dash", "dot", "dashdot", "longdash"];
  const svgDashes = {solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "11 4"};
  const symbols = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const printing = {now: false};
  const isDark = () => dark.matches && !printing.now;

  const theme = () => isDark()
    ? {ink: "#e6edf3", soft: "#9da7b3", grid: "#2d353f", palette: darkColours}
    : {ink: "#1b1f24", soft: "#57606a", grid: "#d8dee4", palette: colours};
  const styleOf = (n) => ({
    colour: theme().palette[n % 8] || theme().ink,
    dash: dashes[(n + Math.floor(n / 8)) % dashes.length],
    symbol: symbols[(n + 3 * Math.floor(n / 8)) % symbols.length],
  });
  const faded = (hex, alpha) => `rgba(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(",")},${alpha})`;
  const text = (s) => String(s).replace(/&/g, "&amp;").replace(/\x3c/g, "&lt;").replace(/>/g, "&gt;");
  const element = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };

  const config = {displayModeBar: false, responsive: true, showTips: false};
  const axis = (spec, more) => Object.assign({
    title: {text: text(spec.title), font: {size: 12}, standoff: 8}, type: spec.log ? "log" : "linear",
    gridcolor: theme().grid, zerolinecolor: theme().grid, linecolor: theme().soft, automargin: true,
    nticks: narrow.matches ? 5 : 8,
  }, more || {});
  const layout = (more) => Object.assign({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: theme().ink, size: 12},
    margin: {l: 50, r: 12, t: 8, b: 40}, showlegend: false, hovermode: "closest",
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    hoverlabel: {namelength: -1},
  }, more);

  const finite = (values) => (values || []).filter((v) => v !== null);

  // 1, 2, 5, 10 ... along a logarithmic axis, or decades where there are many.
  function logTicks(low, high) {
    const steps = high / low > (narrow.matches ? 300 : 3000) ? [1] : [1, 2, 5];
    const values = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e)
      for (const step of steps) values.push(Number(`${step}e${e}`));
    const shown = (v) => (v >= 1e-3 && v < 1e5 ? String(v) : v.toExponential());
    return {tickmode: "array", tickvals: values, ticktext: values.map(shown)};
  }

  function xTicks(chart) {
    const xs = chart.panels.flatMap((panel) => panel.series.flatMap((s) => finite(s.x))).filter((x) => x > 0);
    return chart.x.log && xs.length > 0 ? logTicks(Math.min(...xs), Math.max(...xs)) : {};
  }

  // One range for all panels, of what is not faint, so that they can be compared.
  function commonRange(chart) {
    let values = [];
    for (const panel of chart.panels)
      for (const s of panel.series)
        if (s.kind !== "seeds") values.push(...finite(s.y), ...finite(s.low), ...finite(s.high));
    if (chart.y.log) values = values.filter((v) => v > 0);
    if (values.length === 0) return undefined;
    let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (chart.y.cap !== undefined) high = Math.min(high, Math.max(chart.y.cap, low));
    if (chart.y.log) [low, high] = [Math.log10(low), Math.log10(high)];
    const room = 0.06 * (high - low) || 0.5 * Math.abs(high) || 0.5;
    return [low - room, high + room];
  }

  function traces(chart, panel, hidden) {
    const out = [];
    for (const s of panel.series) {
      const style = styleOf(s.style);
      const name = text(s.name);
      const common = {x: s.x, y: s.y, name, visible: !hidden.has(s.name), hoverinfo: "skip", type: "scatter"};
      if (s.kind === "seeds") {
        out.push({...common, mode: "lines", line: {color: faded(style.colour, 0.28), width: 1}});
        continue;
      }
      if (s.kind === "chosen") {
        out.push({...common, mode: "markers",
          marker: {symbol: "circle-open", size: 15, color: style.colour, line: {width: 2}}});
        continue;
      }
      if (s.kind === "theory") {
        out.push({...common, mode: "lines", hoverinfo: "x+y+name", line: {color: theme().ink, width: 2, dash: "dot"}});
        continue;
      }
      const banded = s.low && !chart.error_bars ? s.x.map((x, i) => i).filter((i) => s.low[i] !== null && s.high[i] !== null) : [];
      if (banded.length > 1) {
        out.push({...common, mode: "lines", line: {width: 0}, fill: "toself", fillcolor: faded(style.colour, 0.15),
          x: [...banded.map((i) => s.x[i]), ...banded.map((i) => s.x[i]).reverse()],
          y: [...banded.map((i) => s.high[i]), ...banded.map((i) => s.low[i]).reverse()]});
      }
      const every = Math.max(1, Math.ceil(s.x.length / 8));
      const bars = s.low && chart.error_bars ? {error_y: {type: "data", symmetric: false, color: style.colour, width: 4,
        array: s.y.map((y, i) => (s.high[i] === null ? 0 : s.high[i] - y)),
        arrayminus: s.y.map((y, i) => (s.low[i] === null ? 0 : y - s.low[i]))}} : {};
      out.push({...common, ...bars, mode: "lines+markers", hoverinfo: "x+y+name",
        line: {color: style.colour, width: 2, dash: style.dash},
        marker: {symbol: style.symbol, color: style.colour,
          size: s.x.map((x, i) => ((i + s.style) % every === 0 ? 7 : 0.1))}});
    }
    return out;
  }

  function swatch(series) {
    const style = series.kind === "theory" ? {colour: theme().ink, dash: "dot"} : styleOf(series.style);
    const marks = {
      circle: "M12 6a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0", square: "M12 2.5h7v7h-7z", diamond: "M15.5 1.5l4 4.5-4 4.5-4-4.5z",
      "triangle-up": "M15.5 2l4 7.5h-8z", "triangle-down": "M15.5 10l4-7.5h-8z",
      cross: "M14 2h3v2.5h2.5v3H17V10h-3V7.5h-2.5v-3H14z", x: "M12.5 2l3 3 3-3 1.2 1.2-2.8 2.8 2.8 2.8-1.2 1.2-3-3-3 3-1.2-1.2 2.8-2.8-2.8-2.8z",
      star: "M15.5 1.5l1.2 3.3h3.5l-2.8 2 1 3.4-2.9-2-2.9 2 1-3.4-2.8-2h3.5z",
    };
    const holder = element("span", {"aria-hidden": "true", style: "line-height:0"});
    holder.innerHTML = `<svg width="31" height="12"><path d="M0 6h31" stroke="${style.colour}" stroke-width="2" ` +
      `stroke-dasharray="${svgDashes[style.dash]}"/><path d="${marks[style.symbol] || ""}" fill="${style.colour}"/></svg>`;
    return holder;
  }

  // A legend for all panels of a chart; a button hides and shows its line everywhere.
  function legend(chart, hidden, redraw) {
    const box = element("div", {class: "legend", role: "group", "aria-label": "Lines: hide or show"});
    const seen = new Set();
    for (const panel of chart.panels) {
      for (const s of panel.series) {
        if (s.kind === "seeds" || s.kind === "chosen" || seen.has(s.name)) continue;
        seen.add(s.name);
        const button = element("button", {type: "button", "aria-pressed": String(!hidden.has(s.name))}, swatch(s), s.name);
        button.addEventListener("click", () => {
          hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name);
          button.setAttribute("aria-pressed", String(!hidden.has(s.name)));
          redraw();
        });
        box.append(button);
      }
    }
    return seen.size > 1 ? box : null;
  }

  function lines(chart, holder) {
    const hidden = new Set();
    const panels = chart.panels.filter((panel) => panel.series.length > 0);
    const grid = element("div", {class: "panels"});
    const plots = panels.map((panel) => {
      const plot = element("div", {class: "drawing"});
      const box = element("div", {class: "panel"});
      if (panel.title) box.append(element("h4", {}, panel.title));
      box.append(plot);
      grid.append(box);
      return plot;
    });
    const range = commonRange(chart);
    const redraw = () => panels.forEach((panel, i) => Plotly.react(plots[i], traces(chart, panel, hidden), layout({
      xaxis: axis(chart.x, xTicks(chart)),
      yaxis: axis(chart.y, Object.assign(range ? {range: range.slice()} : {},
        range && chart.y.log ? logTicks(10 ** range[0], 10 ** range[1]) : {})),
    }), config));
    let box = null;
    holder.append(grid);
    return () => {
      const fresh = legend(chart, hidden, redraw);
      if (box && fresh) box.replaceWith(fresh);
      else if (fresh) holder.append(fresh);
      box = fresh;
      redraw();
    };
  }

  function heatmap(chart, holder) {
    const plot = element("div", {class: "drawing"});
    const choice = element("select", {id: chart.id + "-panel"}, ...chart.panels.map((panel, i) => element("option", {value: i}, panel.title)));
    if (chart.panels.length > 1) {
      const label = chart.panel_label[0].toUpperCase() + chart.panel_label.slice(1);
      holder.append(element("div", {class: "choose"}, element("label", {for: chart.id + "-panel"}, label), choice));
    }
    holder.append(plot);
    // One colour scale for all panels, so that they can be compared.
    const colour = chart.y.log ? (v) => (v > 0 ? Math.log10(v) : null) : (v) => v;
    const colours = chart.panels.flatMap((panel) => panel.z.flat()).map(colour).filter((v) => v !== null);
    const low = colours.reduce((a, b) => Math.min(a, b), chart.y.log ? Infinity : 0);
    const high = colours.reduce((a, b) => Math.max(a, b), -Infinity);
    const decades = () => {
      const ticks = [];
      for (let t = Math.ceil(low); t <= Math.floor(high); ++t) ticks.push(t);
      return ticks.length > 1 ? {tickvals: ticks, ticktext: ticks.map((t) => `10\x3csup>${t}\x3c/sup>`)} : {tickprefix: "10^"};
    };
    const draw = () => {
      const panel = chart.panels[choice.value || 0];
      const short = (name) => (narrow.matches && name.length > 18 ? "…" + name.slice(-17) : name);
      // Names are put on the axes as ticks, because two of them may be alike.
      const ticks = (names, most) => {
        const step = Math.ceil(names.length / most);
        const shown = names.map((n, i) => i).filter((i) => i % step === 0);
        return {tickvals: shown, ticktext: shown.map((i) => text(short(names[i])))};
      };
      plot.style.height = `${Math.max(14, 6 + 1.15 * panel.rows.length)}rem`;
      Plotly.react(plot, [{
        type: "heatmap", x: panel.columns.map((c, i) => i), y: panel.rows.map((r, i) => i),
        z: panel.z.map((row) => row.map(colour)), zmin: low, zmax: high, customdata: panel.z,
        text: panel.rows.map((r) => panel.columns.map((c) => `${text(r)}\x3cbr>${text(chart.x.title)} ${text(c)}`)),
        hovertemplate: "%{text}: %{customdata:.3g}\x3cextra>\x3c/extra>",
        colorscale: "Viridis", xgap: 1, ygap: 1,
        colorbar: Object.assign({thickness: 10, outlinewidth: 0, tickfont: {color: theme().ink},
          title: {text: narrow.matches ? "" : text(chart.y.title), side: "right"}}, chart.y.log ? decades() : {}),
      }], layout({
        xaxis: axis(chart.x, Object.assign({showgrid: false, zeroline: false}, ticks(panel.columns, narrow.matches ? 12 : 60))),
        yaxis: axis({title: ""}, Object.assign({autorange: "reversed", showgrid: false, zeroline: false, tickfont: {size: 11}}, ticks(panel.rows, panel.rows.length))),
      }), config);
    };
    choice.addEventListener("change", draw);
    return draw;
  }

  function intervals(chart, holder) {
    const plot = element("div", {class: "drawing"});
    holder.append(plot);
    return () => {
      const panel = chart.panels[0], s = panel.series[0], style = styleOf(s.style);
      plot.style.height = `${6 + 1.9 * panel.rows.length}rem`;
      const width = narrow.matches ? 22 : 60;
      const wrap = (name) => {
        const linesOf = [""];
        for (const word of name.split(/(?<=[ ,=/])/)) {
          if (linesOf[linesOf.length - 1].length + word.length > width) linesOf.push("");
          linesOf[linesOf.length - 1] += word;
        }
        return linesOf.map(text).join("\x3cbr>");
      };
      Plotly.react(plot, [{
        type: "scatter", mode: "markers", x: s.x, y: panel.rows.map((r, i) => i), hoverinfo: "x",
        marker: {color: style.colour, size: 10, symbol: "diamond"},
        error_x: {type: "data", symmetric: false, array: s.high.map((h, i) => (h === null ? 0 : h - s.x[i])),
          arrayminus: s.low.map((l, i) => (l === null ? 0 : s.x[i] - l)), color: style.colour, thickness: 2, width: 5},
      }], layout({
        xaxis: axis(chart.x, {zeroline: true, zerolinecolor: theme().soft, zerolinewidth: 2}),
        yaxis: axis({title: ""}, {range: [panel.rows.length - 0.5, -0.5], tickvals: panel.rows.map((r, i) => i),
          ticktext: panel.rows.map(wrap)}),
      }), config);
    };
  }

  const study = JSON.parse(document.getElementById("study-data").textContent);
  const kinds = {lines, heatmap, intervals};
  const draws = [];
  for (const chart of study.charts) {
    const holder = document.querySelector(`[data-chart="${CSS.escape(chart.id)}"]`);
    if (holder && chart.panels.length > 0) draws.push(kinds[chart.kind](chart, holder));
  }
  const drawAll = () => draws.forEach((draw) => draw());
  drawAll();
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { printing.now = true; drawAll(); });
  addEventListener("afterprint", () => { printing.now = false; drawAll(); });
})();
