module github.com/adze-dev/adze/internal/dev/otlptest

go 1.26.0

require (
	github.com/adze-dev/adze v0.0.0
	go.opentelemetry.io/proto/otlp v1.11.1
	google.golang.org/protobuf v1.36.12
)

replace github.com/adze-dev/adze => ../../..
