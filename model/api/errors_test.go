package api

import (
	"testing"
	"time"

	"github.com/adze-dev/adze/model"
)

// Errors as servers send them, and the class of each.
func TestKindOfErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   model.Kind
	}{
		{"OpenAI key", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, model.ErrCredentials},
		{"Anthropic key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, model.ErrCredentials},
		{"Gemini key", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, model.ErrCredentials},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ErrQuota},
		{"Anthropic balance", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.ErrQuota},
		{"Anthropic limit of a month", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01"}}`, model.ErrQuota},
		{"DeepSeek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, model.ErrQuota},
		{"OpenRouter free models", 429, `{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429}}`, model.ErrQuota},
		{"Groq tokens per day", 429, `{"error":{"message":"Rate limit reached for model x on tokens per day (TPD): Limit 100000","type":"tokens","code":"rate_limit_exceeded"}}`, model.ErrQuota},
		{"Groq tokens per minute", 429, `{"error":{"message":"Rate limit reached for model x on tokens per minute (TPM): Limit 6000","code":"rate_limit_exceeded"}}`, model.ErrRateLimit},
		{"Gemini quota of a day", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"34s"}]}}]`, model.ErrQuota},
		{"Gemini quota of a minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, limits are per day and per minute.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"retryDelay":"34.5s"}]}}`, model.ErrRateLimit},
		{"Anthropic rate limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit of 50,000 input tokens per minute"}}`, model.ErrRateLimit},
		{"Anthropic overload", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrServer},
		{"Anthropic length", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, model.ErrContextLength},
		{"Anthropic model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, model.ErrUnknownModel},
		{"Gemini model", 404, `{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}`, model.ErrUnknownModel},
		{"Ollama model", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"not_found_error"}}`, model.ErrUnknownModel},
		{"OpenRouter model", 400, `{"error":{"message":"x/y is not a valid model ID","code":400}}`, model.ErrUnknownModel},
		{"DeepSeek model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, model.ErrUnknownModel},
		{"nothing there", 404, `404 page not found`, model.ErrRejected},
		{"a proxy's page", 403, `<html><title>Blocked</title></html>`, model.ErrRejected},
		{"a redirect", 302, ``, model.ErrRejected},
		{"Gemini busy", 503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, model.ErrServer},
	} {
		if got := kindOf(tt.status, readError([]byte(tt.body))); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReadError(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow down"}}}`: "Provider returned error: slow down",
		`<!doctype html><head><TITLE>Access denied</title>`:                                         `a web page ("Access denied"), possibly from a proxy`,
		`[{"error":{"message":"a"}}]`:                                                               "a",
	} {
		if got := readError([]byte(body)).Message; got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	e := readError([]byte(`{"error":{"message":"x","details":[{"@type":"other"},{"retryDelay":"34.5s"}]}}`))
	if got := e.retryDelay(); got != 34500*time.Millisecond {
		t.Errorf("waits %v", got)
	}
}
